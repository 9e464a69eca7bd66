export * from './act.js';
export * from './read.js';
