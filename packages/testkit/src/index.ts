export * from './checker/index.js';
export * from './follow-signals.js';
export * from './services/index.js';
