export * from './failpoint.js';
export * from './history.js';
export * from './history-ops.js';
export * from './logger.js';
export * from './metrics/index.js';
export {
  cutBetweenSecrets,
  forgetAllSecrets,
  holdsSecret,
  redactJson,
  redactText,
  registerSecret,
  registerUrlSecrets,
} from './redaction.js';
export * from './test-signal.js';
export * from './tracing/index.js';
