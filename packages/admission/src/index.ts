export * from './admission.js';
export { OverloadedError } from './batcher.js';
export { RISK_RANK } from './counted-item.js';
export { workOf } from './plan-work.js';
export { SIGNAL_READERS } from './prepare.js';
export * from './restored-items.js';
export * from './restored-signal.js';
export * from './submission.js';
export { AlreadyPromotedError } from './write-waiting.js';
