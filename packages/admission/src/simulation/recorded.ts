/** Signals that were received before, from their receipts and payloads, as submissions to be decided again. */
import type { Policy, Signal, SourcePolicy, Verdict } from '@headgate/domain';
import {
  gitRepositoryId,
  type HookReading,
  moduleOf,
  readCloudEvent,
  readWebhook,
  signalOfCloudEvent,
} from '@headgate/sources';
import type { RecordedReceipt } from '@headgate/store';
import { repositoryOf } from '../repository.js';
import type { Submission } from '../submission.js';

/** Null: its payload is no longer kept, and nothing else tells what it was about. */
export function recordedSubmission(recorded: RecordedReceipt, policy: Policy): Submission | null {
  const { tenant } = recorded;
  if (recorded.trigger === 'event') {
    const signal = eventOf(recorded, policy);
    return signal === null ? null : { signal, tenant, payload: null };
  }
  const signal = ownTriggerOf(recorded, policy);
  return signal === null ? null : { signal, tenant, payload: null, verdict: standingVerdict(recorded) };
}

/** Read again from its bytes, by today's code. */
function eventOf(recorded: RecordedReceipt, policy: Policy): Signal | null {
  const { payload, via } = recorded;
  if (payload === null) return null;
  const signal = readAgain({ ...recorded, payload }, policy);
  return signal === null ? null : { ...signal, via };
}

type WithPayload = RecordedReceipt & { readonly payload: NonNullable<RecordedReceipt['payload']> };

function readAgain(recorded: WithPayload, policy: Policy): Signal | null {
  const [family, event] = recorded.type.split('.');
  if (family === 'github') return event === undefined ? null : signalIn(githubReading(recorded, event));
  const source = policy.sources.find((one) => one.id === recorded.source);
  if (source === undefined) return null;
  if (family === 'webhook' && source.kind === 'standard-webhooks') return messageOf(recorded, source);
  return family === 'cloudevents' && source.kind === 'cloudevents' ? cloudEventOf(recorded, source) : null;
}

const signalIn = (reading: HookReading): Signal | null => (reading.kind === 'signal' ? reading.signal : null);

function githubReading({ payload, hookId, eventId, ...recorded }: WithPayload, event: string): HookReading {
  const prefix = hookId === null ? '' : `${hookId}/`;
  return readWebhook({
    sourceId: recorded.source,
    rawBody: payload.body,
    headers: {
      'content-type': payload.mediaType,
      'x-github-event': event,
      'x-github-delivery': eventId.slice(prefix.length),
      ...(hookId === null ? {} : { 'x-github-hook-id': hookId }),
    },
    receivedAt: recorded.receivedAt,
    traceparent: null,
  });
}

function messageOf({ payload, eventId, receivedAt }: WithPayload, source: SourcePolicy): Signal | null {
  const { hook } = moduleOf(source);
  if (hook === null) return null;
  const headers = {
    'content-type': payload.mediaType,
    'webhook-id': eventId,
    'webhook-timestamp': String(Math.floor(receivedAt.getTime() / 1000)),
  };
  return signalIn(hook.read({ source, rawBody: payload.body, headers, receivedAt, traceparent: null }));
}

/**
 * In structured mode the body is the whole event. In binary mode its attributes were headers, of which the receipt
 * keeps type, source, id and time; a subject is lost.
 */
function cloudEventOf(recorded: WithPayload, source: SourcePolicy): Signal | null {
  const { payload, type, eventId, emittedAt, receivedAt } = recorded;
  const space = eventId.indexOf(' ');
  const attributes =
    space === -1
      ? {}
      : {
          'ce-specversion': '1.0',
          'ce-type': encodeURIComponent(type.slice('cloudevents.'.length)),
          'ce-source': encodeURIComponent(eventId.slice(0, space)),
          'ce-id': encodeURIComponent(eventId.slice(space + 1)),
          ...(emittedAt === null ? {} : { 'ce-time': emittedAt.toISOString() }),
        };
  const reading = readCloudEvent(payload.body, { 'content-type': payload.mediaType, ...attributes });
  if (reading.kind !== 'event') return null;
  const actor = { kind: 'token', id: 'recorded', name: 'recorded' } as const;
  return {
    ...signalOfCloudEvent(reading.event, { source, receivedAt, traceparent: null, actor }),
    actor: null,
  };
}

/**
 * What a trigger of our own was told before there was work to decide about (a time that passed in a pause, a goal that
 * holds, a request that named no target) hangs on no policy of now: it stands.
 */
function standingVerdict({ workKey, outcome, reasonCode, rule }: RecordedReceipt): Verdict | null {
  return workKey === null ? { outcome, reasonCode, rule, detail: null, retryAfter: null } : null;
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
