export * from './cadence.js';
export * from './jitter.js';
export * from './overlap.js';
export { parseCadence } from './parse.js';
export * from './ticks.js';
