/** Signals that were received before, from their receipts and payloads, as submissions to be decided again. */
import type { Policy, Signal } from '@headgate/domain';
import { gitRepositoryId, readWebhook } from '@headgate/sources';
import type { RecordedReceipt } from '@headgate/store';
import { repositoryOf } from '../repository.js';
import type { Submission } from '../submission.js';

/** Null: its payload is no longer kept, and nothing else tells what it was about. */
export function recordedSubmission(recorded: RecordedReceipt, policy: Policy): Submission | null {
  const signal = recorded.trigger === 'event' ? eventOf(recorded) : ownTriggerOf(recorded, policy);
  return signal === null ? null : { signal, tenant: recorded.tenant, payload: null };
}

/** Read again from its bytes, by today's code. */
function eventOf(recorded: RecordedReceipt): Signal | null {
  const { payload, type, hookId } = recorded;
  const [family, event] = type.split('.');
  if (payload === null || family !== 'github' || event === undefined) return null;
  const prefix = hookId === null ? '' : `${hookId}/`;
  const reading = readWebhook({
    sourceId: recorded.source,
    rawBody: payload.body,
    headers: {
      'content-type': payload.mediaType,
      'x-github-event': event,
      'x-github-delivery': recorded.eventId.slice(prefix.length),
      ...(hookId === null ? {} : { 'x-github-hook-id': hookId }),
    },
    receivedAt: recorded.receivedAt,
    traceparent: null,
  });
  return reading.kind === 'signal' ? { ...reading.signal, via: recorded.via } : null;
}

/** A tick or a person: what matters of it stands on the receipt. */
function ownTriggerOf(recorded: RecordedReceipt, policy: Policy): Signal | null {
  const { route, repository: fullName } = recorded;
  if (route === null) return null;
  const signal: Signal = {
    source: recorded.source,
    eventId: recorded.eventId,
    type: recorded.type,
    trigger: recorded.trigger,
    via: recorded.via,
    hookId: null,
    subject: null,
    emittedAt: recorded.emittedAt,
    receivedAt: recorded.receivedAt,
    actor: null,
    repository: fullName === null ? null : { externalId: fullName, fullName, defaultBranch: null },
    target: null,
    inputVersion: recorded.inputVersion,
    sourceAt: recorded.emittedAt,
    parentVersions: [],
    data: { route },
    traceparent: null,
  };
  const known = signal.repository === null ? null : repositoryOf(signal, recorded.tenant, policy);
  if (known === null || known.url === null || signal.repository === null) return signal;
  return { ...signal, repository: { ...signal.repository, externalId: gitRepositoryId(known.url) } };
}
