export * from './admission.js';
export { AlreadyPromotedError } from './admit-batch.js';
export { OverloadedError } from './batcher.js';
export { RISK_RANK } from './counted-item.js';
export { workOf } from './prepare.js';
export * from './restored-items.js';
export * from './restored-signal.js';
export * from './submission.js';
