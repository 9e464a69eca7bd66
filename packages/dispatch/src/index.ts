export * from './choose.js';
export * from './dispatcher.js';
export * from './fill.js';
export * from './heads-per-pair.js';
export { ReadyTenants } from './ready-tenants.js';
