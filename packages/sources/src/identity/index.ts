export { type Identification, identify } from './identify.js';
export { type IdentityRow, identityMarkdown, identityTable } from './table.js';
