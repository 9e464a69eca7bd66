export * from './act.js';
export * from './console.js';
export * from './evidence.js';
export * from './goals.js';
export * from './read.js';
export * from './schedules.js';
export * from './words.js';
