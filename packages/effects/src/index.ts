export * from './branch.js';
export * from './push/intent.js';
export * from './push/lookup.js';
export * from './push/perform.js';
export * from './push/resolve.js';
