export { atEnd, endOfFile } from './at-end.js';
export * from './depth.js';
export * from './eventually.js';
export * from './fault-proxy.js';
export { recordOwnHistory } from './own-history.js';
export {
  API_ROLE,
  inDatabase,
  prepareDatabase,
  prepareTemplate,
  type RoleUrls,
  SERVICE_ROLE,
  withClient,
} from './prepare-template.js';
export * from './private-servers.js';
export { REPOSITORY_ROOT } from './repository.js';
export * from './shared.js';
export * from './spawn-service.js';
export { removeDataFolder, temporaryDataFolder } from './temporary-folder.js';
export * from './tools.js';
