export * from './authority/index.js';
export * from './cloudevents/index.js';
export * from './git/index.js';
export * from './github/index.js';
export * from './identity/index.js';
export * from './kinds/index.js';
export * from './samples/index.js';
export * from './standard-webhooks/index.js';
