export * from './headers.js';
export * from './json-body.js';
export * from './limits.js';
export * from './mount.js';
export * from './problems.js';
export * from './route.js';
