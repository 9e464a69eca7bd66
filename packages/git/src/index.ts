export * from './environment.js';
export * from './file-at.js';
export * from './mirror.js';
export * from './push.js';
export * from './remote.js';
export * from './run.js';
export * from './sha.js';
