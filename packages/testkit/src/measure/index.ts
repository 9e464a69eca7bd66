export { inDatabase, prepareDatabase, type RoleUrls, withClient } from '../services/prepare-template.js';
export { removeDataFolder, temporaryDataFolder } from '../services/temporary-folder.js';
export * from './backlog.js';
export * from './explain-everything.js';
export type { Plan } from './plan.js';
export * from './statement-counter.js';
export * from './wal.js';
export * from './watch.js';
