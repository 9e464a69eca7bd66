export * from './decide.js';
export * from './observation.js';
