import type { HookReading, HookRequest, SourceModule } from '../kinds/source-module.js';
import { isKnownGithubEvent, isPing } from './events.js';
import { verifySignature } from './signature.js';
import { readWebhook } from './webhook.js';

const WRONG_SIGNATURE =
  "X-Hub-Signature-256 does not match. Compare the hook's secret with webhookSecrets of the source.";

function read({ source, ...request }: HookRequest): HookReading {
  return readWebhook({ ...request, sourceId: source.id });
}

export const github: SourceModule = {
  kind: 'github',
  hook: {
    verify: ({ rawBody, headers }, secrets) =>
      verifySignature(rawBody, headers, secrets).ok ? { ok: true } : { ok: false, detail: WRONG_SIGNATURE },
    read,
  },
  judge: ({ type }) => {
    if (isPing(type)) return { outcome: 'no-work', reasonCode: 'PING', detail: null, retryAfter: null };
    if (isKnownGithubEvent(type)) return null;
    return { outcome: 'reject', reasonCode: 'UNKNOWN_EVENT', detail: null, retryAfter: null };
  },
};
