export { replayReceipt } from './replay.js';
