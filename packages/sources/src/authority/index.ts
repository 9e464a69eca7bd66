export { type Freshness, type FreshnessQuestion, freshness } from './freshness.js';
export { GitSourceReader, type GitSourceReaderOptions } from './git-reader.js';
export { GithubSourceReader } from './github-reader.js';
export {
  type HeadQuery,
  type HeadReading,
  type PermissionQuery,
  type PermissionReading,
  READ_TIMEOUT_MS,
  type SourceReader,
} from './reader.js';
export { type HeadResolution, resolveHead } from './resolve-head.js';
export { AuthoritativeReader, hasCredentials, type SourceReaderOptions } from './source-reader.js';
