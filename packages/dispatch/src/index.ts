export * from './choose.js';
export * from './dispatcher.js';
export { ReadyTenants } from './ready-tenants.js';
