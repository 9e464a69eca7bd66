/** What is said about decisions: the answer to the sender, and after the commit history, metrics and test signals. */
import type { Decision, Outcome, SignalAnswer } from '@headgate/domain';
import { CommitUnknownError, isConnectionFault } from '@headgate/store';
import { metrics, record, testSignal } from '@headgate/telemetry';
import type { Prepared } from './prepare.js';

export const answerOf = (decision: Decision): SignalAnswer => ({
  receiptId: decision.candidate.receiptId,
  outcome: decision.outcome,
  reasonCode: decision.reasonCode,
  message: decision.message,
  runId: decision.runId,
  taskId: decision.taskId,
  existing: decision.existing,
  retryAfter: decision.retryAfter,
});

const RANK: Readonly<Record<Outcome, number>> = { accept: 3, defer: 2, 'no-work': 1, reject: 0 };

/** Of the routes that took a signal: an accept before a defer, no-work, reject; of equals the first in file order. */
export function primaryOf(decisions: readonly Decision[]): Decision {
  const [primary] = [...decisions].sort((a, b) => RANK[b.outcome] - RANK[a.outcome]);
  if (primary === undefined) throw new Error('a signal without a decision');
  return primary;
}

/** Further routes of a repeated delivery are not asked: what was begun for them has ended without an answer. */
export function recordSkipped(batch: readonly Prepared[], decisions: readonly Decision[]): void {
  const decided = new Set(decisions.map(({ candidate }) => candidate.receiptId));
  for (const { candidate } of batch) {
    if (decided.has(candidate.receiptId)) continue;
    record({ type: 'fail', op: 'intake.answer', key: candidate.receiptId, result: { skipped: true } });
  }
}

export function recordAsked(batch: readonly Prepared[]): void {
  for (const { candidate } of batch) {
    record({ type: 'invoke', op: 'intake.answer', key: candidate.receiptId });
  }
}

/** A lost connection leaves open whether the receipts stand; any other fault rolled them back. */
export function recordFault(batch: readonly Prepared[], fault: unknown): void {
  const isUnknown = fault instanceof CommitUnknownError || isConnectionFault(fault);
  const type = isUnknown ? 'info' : 'fail';
  for (const { candidate } of batch) {
    record({ type, op: 'intake.answer', key: candidate.receiptId, result: { fault: String(fault) } });
  }
}

export function tellDecided(decisions: readonly Decision[]): void {
  countDecided(decisions);
  for (const decision of decisions) {
    const { candidate, reasonCode, runId } = decision;
    const { receiptId } = candidate;
    record({
      type: 'ok',
      op: 'intake.answer',
      tenant: candidate.tenant.id,
      key: receiptId,
      result: {
        receiptId,
        reasonCode,
        runId,
        taskId: decision.taskId,
        generation: decision.generation,
        inputVersion: candidate.work?.inputVersion ?? null,
      },
    });
    testSignal('intake.answered', { receiptId, reasonCode, runId });
  }
}

/** Once for all decisions that are counted alike: a batch has many of few kinds. */
function countDecided(decisions: readonly Decision[]): void {
  const alike = new Map<string, { readonly decision: Decision; count: number }>();
  for (const decision of decisions) {
    const key = `${decision.outcome} ${decision.reasonCode} ${decision.candidate.signal.trigger}`;
    const known = alike.get(key);
    if (known === undefined) alike.set(key, { decision, count: 1 });
    else known.count += 1;
  }
  for (const { decision, count } of alike.values()) {
    const { outcome, reasonCode, candidate } = decision;
    metrics.receipts.add(count, { outcome, reason_code: reasonCode });
    if (outcome === 'accept') metrics.admissionAccepted.add(count, { trigger: candidate.signal.trigger });
    else if (outcome !== 'no-work') metrics.admissionDenied.add(count, { reason_code: reasonCode });
  }
}
