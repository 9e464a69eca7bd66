export { type ReplayContext, type ReplayOptions, replayReceipt } from './replay.js';
