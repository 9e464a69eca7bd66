export * from './explanation.js';
export * from './operations.js';
export * from './receipt.js';
export * from './run.js';
export * from './schedules.js';
export * from './shape.js';
export * from './task.js';
