export { BoundedAsker, type BoundedAskerOptions } from './bounded-asker.js';
export type { AnswerValidator, Change, FactMemory, Look, LookRequest } from './look.js';
export { type LookBackRequest, lookBack } from './look-back.js';
export { lookAt } from './scanner.js';
export { type LookTarget, lookTargets } from './targets.js';
