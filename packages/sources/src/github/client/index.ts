export { GithubClient, type GithubClientOptions, type GithubQuestion, type GithubSource } from './client.js';
export { type CredentialsReading, type GithubCredentials, readCredentials } from './credentials.js';
export { type EtagCopy, type EtagStore, MemoryEtags } from './etags.js';
export type { GithubFailure, GithubOutcome } from './outcome.js';
export { repositoryPath } from './paths.js';
export type { GithubRate } from './rates.js';
