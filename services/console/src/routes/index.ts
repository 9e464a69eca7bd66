export * from './act.js';
export * from './read.js';
export * from './schedules.js';
