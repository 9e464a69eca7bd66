export * from './ledger-conformance.js';
export * from './memory-ledger.js';
