export * from './condition.js';
export * from './context.js';
export * from './template.js';
