export { GithubClient, type GithubClientOptions } from './client.js';
export { type CredentialsReading, type GithubCredentials, readCredentials } from './credentials.js';
export { type EtagCopy, type EtagStore, MemoryEtags } from './etags.js';
export type { GithubFailure, GithubOutcome } from './outcome.js';
export { organizationPath, repositoryPath } from './paths.js';
export type { GithubQuestion, GithubSource } from './questions.js';
export type { GithubRate } from './rates.js';
