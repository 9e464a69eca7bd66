export { countsAsQueued, QUEUE_FULL_RETRY_MS } from './admit.js';
export { decideBatch } from './decide-batch.js';
export { DEFER_MS, decideOne } from './decide-one.js';
export { evolve } from './evolve.js';
export { touchedSubjects } from './guard.js';
export * from './keys.js';
export * from './types.js';
