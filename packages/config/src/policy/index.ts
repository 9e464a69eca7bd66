export { canonicalJson, digestOf } from './digest.js';
