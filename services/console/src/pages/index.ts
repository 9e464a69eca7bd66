export type { ApiDocument } from './docs.js';
export { mountPages } from './router.js';
