export * from './policy.js';
export * from './progress.js';
export * from './proposal.js';
export * from './run.js';
export * from './signal.js';
export * from './store.js';
export * from './tenant.js';
