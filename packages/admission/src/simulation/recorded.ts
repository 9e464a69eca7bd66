/** Signals that were received before, from their receipts and payloads, as submissions to be decided again. */
import type { Policy, Signal, SourcePolicy, Verdict } from '@headgate/domain';
import { gitRepositoryId, reread } from '@headgate/sources';
import type { RecordedReceipt } from '@headgate/store';
import { repositoryOf } from '../repository.js';
import { actorOf } from '../restored-signal.js';
import type { Submission } from '../submission.js';

/**
 * Null: its payload is no longer kept, and nothing else tells what it was about.
 * @param sources by which messages are read; those that the policy no longer has, too
 */
export function recordedSubmission(
  recorded: RecordedReceipt,
  policy: Policy,
  sources: readonly SourcePolicy[] = policy.sources,
): Submission | null {
  const { tenant } = recorded;
  if (recorded.trigger === 'event') {
    const read = eventOf(recorded, sources);
    return read === null ? null : { ...read, tenant, payload: null };
  }
  const signal = ownTriggerOf(recorded, policy);
  return signal === null ? null : { signal, tenant, payload: null, verdict: standingVerdict(recorded) };
}

/** Read again from its bytes, by today's code. Null: nothing is kept of it, or nobody knows its source. */
function eventOf(
  recorded: RecordedReceipt,
  sources: readonly SourcePolicy[],
): Pick<Submission, 'signal' | 'verdict'> | null {
  const source = sources.find(({ id, tenant }) => id === recorded.source && tenant === recorded.tenant);
  if (recorded.payload === null || source === undefined) return null;
  const { payload, actor, ...envelope } = recorded;
  return reread({ ...envelope, ...payload, source, actor: actorOf(actor) });
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
