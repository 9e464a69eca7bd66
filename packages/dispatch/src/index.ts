export * from './choose.js';
export * from './dispatcher.js';
export * from './fill.js';
export { ReadyTenants } from './ready-tenants.js';
