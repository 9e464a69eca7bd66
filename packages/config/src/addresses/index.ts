export * from './ranges.js';
