export {
  MAX_REPOSITORY_FILE_BYTES,
  REPOSITORY_FILE_NAME,
  type RepositoryFileReading,
  readRepositoryFile,
} from './read.js';
export { repositoryFileJsonSchema } from './schema.js';
