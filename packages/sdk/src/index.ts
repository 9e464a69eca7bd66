export * from './client.js';
export type { Listing } from './pages.js';
export { HeadgateProblem, HeadgateUnreachable, problemOf } from './problem.js';
export type { Fetch } from './transport.js';
export * from './types/index.js';
