export * from './nearest-name.js';
export * from './problem.js';
