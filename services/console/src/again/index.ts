export * from './again.js';
