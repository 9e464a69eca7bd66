export * from './settings.js';
export * from './variables.js';
