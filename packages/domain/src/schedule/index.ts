export { boundOf } from './bounds.js';
export * from './cadence.js';
export { Exclusions } from './exclusions.js';
export * from './jitter.js';
export * from './overlap.js';
export { parseCadence, type ScheduleTimes } from './parse.js';
export * from './ticks.js';
