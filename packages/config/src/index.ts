export * from './cel/index.js';
export * from './environment/index.js';
export * from './load-config.js';
export { NOT_SUPPORTED } from './not-supported.js';
export * from './policy/index.js';
export * from './problems/index.js';
export * from './schema/index.js';
export * from './secrets/index.js';
export * from './watch-config.js';
