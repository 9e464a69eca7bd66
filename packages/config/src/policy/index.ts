export { type PolicyChange, policyDifference } from './difference.js';
export { canonicalJson, digestOf } from './digest.js';
