export * from './condition.js';
export * from './context.js';
export * from './prompt.js';
export * from './template.js';
