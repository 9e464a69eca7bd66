export * from './client/index.js';
export { commandOf } from './command.js';
export { githubEventOf, isKnownGithubEvent, isPing } from './events.js';
export {
  deliveriesPath,
  type FailedDelivery,
  type HookPlace,
  readFailedDeliveries,
  readHooks,
  readOrganizationHooks,
  redeliveryRights,
  repositoryOf as repositoryOfHook,
} from './failed-deliveries.js';
export { isCommitId } from './fields.js';
export { type Headers, headerOf } from './headers.js';
export { FEEDBACK_MARKER, type OwnSign, ownSign } from './own-sign.js';
export { type PublicationNews, publicationNewsOf } from './publication.js';
export { type RepositoryNews, repositoryNews } from './repository-news.js';
export { type SignatureVerdict, signBody, verifySignature } from './signature.js';
export { readWebhook, type WebhookRequest } from './webhook.js';
