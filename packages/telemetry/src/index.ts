export * from './failpoint.js';
export * from './history.js';
export * from './logger.js';
export * from './test-signal.js';
