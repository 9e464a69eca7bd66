export * from './authenticate.js';
export * from './caller.js';
export * from './cookie.js';
export * from './problems.js';
export * from './same-origin.js';
