export * from './authority/index.js';
export * from './git/index.js';
export * from './github/index.js';
export * from './identity/index.js';
export * from './outbound/guarded-request.js';
export * from './samples/index.js';
