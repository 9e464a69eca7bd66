export { type Cadence, type CadenceResult, parseCadence } from './cadence.js';
export * from './jitter.js';
export * from './overlap.js';
export * from './ticks.js';
