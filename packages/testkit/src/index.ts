export * from './builders/index.js';
export * from './checker/index.js';
export * from './cluster/index.js';
export * from './follow-signals.js';
export * from './github/index.js';
export * from './services/index.js';
