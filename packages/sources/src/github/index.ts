export { eventFactsOf } from './event-facts.js';
export { githubEventOf, isKnownGithubEvent, isPing } from './events.js';
export { isCommitId } from './fields.js';
export { type Headers, headerOf } from './headers.js';
export { type PublicationNews, publicationNewsOf } from './publication.js';
export { type SignatureVerdict, signBody, verifySignature } from './signature.js';
export { readWebhook, type WebhookReading, type WebhookRequest } from './webhook.js';
