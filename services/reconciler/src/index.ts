export { JOBS } from './catalogue.js';
export type { Job, JobParts, JobReport, Period } from './job.js';
export { type PreparedJob, prepareJobs } from './prepare-jobs.js';
export { createReconciler, type ReconcilerOptions } from './reconciler.js';
export { RECONCILER_TIMING, type ReconcilerTiming, ReconcilerTimingError } from './timing.js';
