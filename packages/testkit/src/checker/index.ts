export * from './check.js';
export { baselineOf, workId } from './hints.js';
export * from './load-final-state.js';
export * from './model.js';
export * from './read-history.js';
