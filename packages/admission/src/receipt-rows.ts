/** Receipts of a batch as rows. */
import { type AdmissionState, type Decision, deliveryKey, type ReceiptId } from '@headgate/domain';
import type { ActivePolicy, DecisionReceipt } from '@headgate/store';
import { tenantIdOf } from './batch-context.js';
import type { Prepared } from './prepare.js';

/** The receipt that each delivery got first, here or before. */
export function firstReceipts(
  batch: readonly Prepared[],
  state: AdmissionState,
): ReadonlyMap<string, ReceiptId> {
  const firsts = new Map([...state.deliveries].map(([key, first]) => [key, first.receiptId]));
  for (const { candidate } of batch) {
    const key = deliveryKey(candidate.signal);
    if (candidate.parentReceiptId === null && !firsts.has(key)) firsts.set(key, candidate.receiptId);
  }
  return firsts;
}

/** A promotion names the receipt that deferred it, a repeated delivery the first one's, a replay the replayed one. */
export const parentOf = (
  { candidate, reasonCode }: Decision,
  { submission }: Prepared,
  firsts: ReadonlyMap<string, ReceiptId>,
): ReceiptId | null =>
  reasonCode === 'DUPLICATE_DELIVERY'
    ? (firsts.get(deliveryKey(candidate.signal)) ?? null)
    : (candidate.parentReceiptId ?? submission.replays?.receiptId ?? null);

export function receiptRow(
  decision: Decision,
  prepared: Prepared,
  active: ActivePolicy,
  parentReceiptId: ReceiptId | null,
): DecisionReceipt {
  const { candidate } = decision;
  const { signal, work } = candidate;
  return {
    id: candidate.receiptId,
    tenantId: tenantIdOf(prepared, active),
    outcome: decision.outcome,
    reasonCode: decision.reasonCode,
    message: messageOf(decision, prepared),
    rule: decision.rule,
    trigger: signal.trigger,
    via: signal.via,
    route: candidate.route?.id ?? null,
    existing: decision.existing,
    retryAfter: decision.retryAfter,
    watermark: decision.outcome === 'no-work' ? (prepared.submission.watermark ?? null) : null,
    parentReceiptId,
    traceparent: signal.traceparent,
    source: signal.source,
    eventId: signal.eventId,
    type: signal.type,
    hookId: signal.hookId,
    emittedAt: signal.emittedAt,
    receivedAt: signal.receivedAt,
    actor: signal.actor === null ? null : `${signal.actor.kind}:${signal.actor.name}`,
    repository: signal.repository?.fullName ?? null,
    workKey: work?.workKey ?? null,
    targetId: signal.target?.id ?? null,
    inputVersion: work?.inputVersion ?? signal.inputVersion,
    generation: decision.generation,
    policyVersion: active.version,
    taskId: decision.taskId,
    runId: decision.runId,
    concurrencyKey: prepared.concurrency?.key ?? null,
    replayedBy: prepared.submission.replays?.by ?? null,
    repositoryConfigSha: prepared.file?.blobSha ?? null,
  };
}

/** What did not count is said where its owners will look for it. */
function messageOf({ message, candidate, outcome }: Decision, { file }: Prepared): string {
  const { route, signal } = candidate;
  const leftOut = file?.leftOut ?? [];
  const isUnfiltered =
    outcome !== 'reject' && (route?.paths ?? []).length > 0 && signal.changedFiles?.isWhole === false;
  return [
    message,
    ...(leftOut.length === 0
      ? []
      : [`The route does not let .headgate.yaml add ${leftOut.join(', ')}: left out.`]),
    ...(isUnfiltered
      ? ["Not all files that it changes are known, so the route's paths did not filter it."]
      : []),
  ].join(' ');
}
