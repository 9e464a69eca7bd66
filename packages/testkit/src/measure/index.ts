export * from './backlog.js';
export * from './explain-everything.js';
export type { Plan } from './plan.js';
export * from './statement-counter.js';
export * from './wal.js';
export * from './watch.js';
