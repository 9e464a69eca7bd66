export * from './conventions.js';
export { shutdownTelemetry } from './sdk-state.js';
export * from './self-test.js';
export * from './spans.js';
