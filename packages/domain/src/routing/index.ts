export * from './eligibility.js';
export * from './route-signal.js';
export * from './rules.js';
export * from './scope.js';
