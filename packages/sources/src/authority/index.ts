export { AskOnce, type GithubAsker } from './ask-once.js';
export { asksForFiles, MOST_FILES_LISTED } from './changed-files.js';
export { type Freshness, type FreshnessQuestion, freshness } from './freshness.js';
export { GitSourceReader, type GitSourceReaderOptions } from './git-reader.js';
export { GithubSourceReader } from './github-reader.js';
export { readAtSource, type SourceQuestion } from './read-at-source.js';
export {
  type HeadQuery,
  type HeadReading,
  type PermissionQuery,
  type PermissionReading,
  READ_TIMEOUT_MS,
  type SourceReader,
} from './reader.js';
export type { Readout } from './readout.js';
export { AuthoritativeReader, hasCredentials, type SourceReaderOptions } from './source-reader.js';
