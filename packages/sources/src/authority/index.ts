export { type Freshness, type FreshnessQuestion, freshness } from './freshness.js';
export { GitSourceReader, type GitSourceReaderOptions } from './git-reader.js';
export { type HeadQuery, type HeadReading, READ_TIMEOUT_MS, type SourceReader } from './reader.js';
