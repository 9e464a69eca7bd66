export * from './reference.js';
export * from './resolve.js';
