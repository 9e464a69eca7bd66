export * from './explanation.js';
export * from './operations.js';
export * from './receipt.js';
export * from './requests.js';
export * from './run.js';
export * from './shared.js';
export * from './task.js';
