export * from './admission.js';
export { AlreadyPromotedError } from './admit-batch.js';
export { OverloadedError } from './batcher.js';
export { workOf } from './prepare.js';
export { RISK_RANK } from './run-rows.js';
export * from './submission.js';
