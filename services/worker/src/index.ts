export { LeaseTimingError } from './keeper/lease-timing.js';
export {
  DEFAULT_SLOTS,
  slotsFromEnvironment,
  WORKER_TIMING,
  type WorkerOptions,
  type WorkerTiming,
} from './options.js';
export { createWorker } from './worker.js';
