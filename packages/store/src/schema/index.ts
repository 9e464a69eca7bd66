export * from './execution.js';
export * from './goals.js';
export * from './guard.js';
export * from './instance.js';
export * from './intake.js';
export * from './queue.js';
export * from './schedules.js';
export * from './work.js';
