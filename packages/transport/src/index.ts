export type { RedisAnswer, Unavailable } from './answer.js';
export {
  type BoardVerdict,
  BULL_BOARD_CSP,
  type BullBoardOptions,
  createBullBoardRouter,
} from './bull-board.js';
export type { BusTiming } from './bullmq-bus.js';
export { createHintBus, DEFAULT_TIMING, type HintBusOptions } from './create-hint-bus.js';
export { type Hint, hintJobIdOf, type ReceivedHint } from './hint.js';
export type {
  ConsumeOptions,
  Consumer,
  HintBus,
  HintCounts,
  HintEvent,
  HintHealth,
  HintObserver,
  PublishOutcome,
  RedisCheck,
  RedisProblem,
  WaitingHint,
  WakePayloads,
  WakeTopic,
} from './hint-bus.js';
export { DEFAULT_PREFIX, queueNameOf } from './names.js';
