export { askedAt, causeOf } from './cause.js';
export { claimOf } from './claim.js';
export { heardAs } from './heard.js';
export { type Identification, identify, type WrittenIdentity } from './identify.js';
export { type IdentityRow, identityMarkdown, identityTable } from './table.js';
