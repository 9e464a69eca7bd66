export { type BlockInput, blockOf } from './block.js';
export { countHeld, type HeldDraft, heldDraft, hold, NOTHING_HELD } from './held.js';
export * from './rank.js';
export { select } from './select.js';
export * from './tenant-order.js';
export * from './types.js';
export * from './waiting.js';
