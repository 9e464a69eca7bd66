export { countsAsOpen, countsAsQueued, OPEN_LIMIT_RETRY_MS, QUEUE_FULL_RETRY_MS } from './admit.js';
export { decideBatch, isAnsweredOnce } from './decide-batch.js';
export { DEFER_MS, decideOne } from './decide-one.js';
export { type AdmissionDraft, draftOf, evolve, evolveDraft, standsForDelivery } from './evolve.js';
export { touchedSubjects } from './guard.js';
export * from './keys.js';
export { isNews } from './news.js';
export * from './types.js';
