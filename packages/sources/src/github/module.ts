import { readJsonBody } from '../json/body.js';
import type { RecordedMessage } from '../kinds/recorded.js';
import type { HookReading, HookRequest, SourceModule } from '../kinds/source-module.js';
import { isKnownGithubEvent, isPing } from './events.js';
import { verifySignature } from './signature.js';
import { readWebhook, signalOfEvent } from './webhook.js';

const WRONG_SIGNATURE =
  "X-Hub-Signature-256 does not match. Compare the hook's secret with webhookSecrets of the source.";

function read({ source, ...request }: HookRequest): HookReading {
  return readWebhook({ ...request, sourceId: source.id });
}

/** A delivery, or a fact that was found by looking: under the identity that it came with. */
function reread(recorded: RecordedMessage): HookReading | null {
  const { source, body, eventId, hookId, type, via, receivedAt } = recorded;
  const [, event] = type.split('.');
  if (event === undefined) return null;
  if (via === 'scan' || via === 'poll') {
    const found = readJsonBody(body);
    if (found.kind !== 'object') return null;
    const fact = { event, payload: found.value, eventId, via, receivedAt, source };
    return { kind: 'signal', signal: signalOfEvent(fact) };
  }
  return read({
    source,
    rawBody: body,
    headers: {
      'content-type': recorded.mediaType,
      'x-github-event': event,
      'x-github-delivery': hookId === null ? eventId : eventId.slice(hookId.length + 1),
      ...(hookId === null ? {} : { 'x-github-hook-id': hookId }),
    },
    receivedAt,
    traceparent: null,
  });
}

export const github: SourceModule = {
  kind: 'github',
  reread,
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
