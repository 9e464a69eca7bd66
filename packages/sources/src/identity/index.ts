export { claimOf } from './claim.js';
export { askedAt, causeOf } from './cause.js';
export { type Identification, identify, type WrittenIdentity } from './identify.js';
export { type IdentityRow, identityMarkdown, identityTable } from './table.js';
