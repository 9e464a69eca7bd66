/**
 * Facts in the order of cause. By time; but rows of one transaction are written in an order of its own, so a decision
 * stands before the run that it made whatever the clock says, and where two rows share an instant the attempt's end
 * stands before the run's, and the closing receipt last.
 */
import { formatId } from '../ids.js';
import { isReasonCode, messageOf } from '../reasons.js';
import { quoted } from '../sentences.js';
import { eventMessage, receiptOf } from './event-words.js';
import type { Step } from './explanation.js';
import type { AttemptFact, EventFact, Facts, ReceiptFact } from './facts.js';
import { foldEqual } from './fold.js';

interface Ranked {
  readonly step: Step;
  /** Where it stands in time, in ms. */
  readonly atMs: number;
  readonly rank: number;
  /** UUIDv7s of one process grow; they order what the rank does not. */
  readonly id: string;
}

const RANK = { decision: 0, attempt: 1, event: 2, closing: 3 } as const;

export function stepsOf(facts: Facts): readonly Step[] {
  const bornAtMs = birthsOf(facts);
  const ranked: Ranked[] = [
    ...facts.receipts.map((receipt) => ({
      step: receiptStep(receipt),
      atMs: Math.min(receipt.at.getTime(), bornAtMs.get(receipt.id) ?? Number.POSITIVE_INFINITY),
      rank: receipt.kind === 'decision' ? RANK.decision : RANK.closing,
      id: receipt.id,
    })),
    ...facts.events.map((event) => ({
      step: eventStep(event, facts),
      atMs: event.at.getTime(),
      rank: RANK.event,
      id: event.id,
    })),
    ...facts.attempts.flatMap((attempt) => {
      const step = attemptStep(attempt);
      return step === null ? [] : [{ step, atMs: step.at.getTime(), rank: RANK.attempt, id: attempt.id }];
    }),
  ];
  return foldEqual(ranked.sort(byCause).map((one) => one.step));
}

/** When the run that a decision made began, by the decision's receipt. */
function birthsOf({ runs, events }: Facts): ReadonlyMap<string, number> {
  const births = new Map<string, number>();
  for (const run of runs) {
    const times = events.filter((event) => event.runId === run.id).map((event) => event.at.getTime());
    if (times.length > 0) births.set(run.receiptId, Math.min(...times));
  }
  return births;
}

function byCause(a: Ranked, b: Ranked): number {
  if (a.atMs !== b.atMs) return a.atMs - b.atMs;
  if (a.rank !== b.rank) return a.rank - b.rank;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

function receiptStep(receipt: ReceiptFact): Step {
  const isDecision = receipt.kind === 'decision';
  return {
    at: receipt.at,
    type: `receipt.${receipt.kind}`,
    outcome: receipt.outcome,
    reasonCode: receipt.reasonCode,
    message: isDecision ? decisionWords(receipt) : closingWords(receipt),
    rule: receipt.rule,
    actor: receipt.replayedBy ?? receipt.actor,
    receiptId: receipt.id,
    runId: receipt.runId,
    count: 1,
    lastAt: receipt.at,
  };
}

/** `github.check_run.completed from acme (delivery 1/7f3c…): The route's condition is not met.` */
function decisionWords(receipt: ReceiptFact): string {
  const what = `${receipt.type} from ${receipt.source} (delivery ${receipt.eventId})`;
  const again =
    receipt.replayedBy !== null
      ? `, replayed by ${receipt.replayedBy}`
      : receipt.parentReceiptId === null
        ? ''
        : ', decided again';
  const of = receipt.inputVersion === null ? '' : `, version ${quoted(receipt.inputVersion)}`;
  return `${what}${again}${of}: ${receipt.message}`;
}

function closingWords({ reasonCode, message }: ReceiptFact): string {
  const sentence = isReasonCode(reasonCode) ? messageOf(reasonCode) : reasonCode;
  return message === '' ? sentence : `${sentence} ${message}`;
}

function eventStep(event: EventFact, facts: Facts): Step {
  return {
    at: event.at,
    type: event.type,
    outcome: null,
    reasonCode: event.reasonCode,
    message: eventMessage(event, facts),
    rule: null,
    actor: event.actor,
    receiptId: receiptOf(event.data),
    runId: event.runId,
    count: 1,
    lastAt: event.at,
  };
}

/** How an attempt ended; its start is the claim's event. A running one has no end. */
function attemptStep(attempt: AttemptFact): Step | null {
  if (attempt.finishedAt === null || attempt.status === 'running') return null;
  const { reasonCode, detail } = attempt;
  const parts = [`Attempt ${attempt.number} ${ENDINGS[attempt.status] ?? attempt.status}.`];
  if (reasonCode !== null && isReasonCode(reasonCode)) parts.push(messageOf(reasonCode));
  if (detail !== null && detail !== '') parts.push(quoted(detail));
  if (attempt.costUsd > 0) parts.push(`It cost ${attempt.costUsd.toFixed(2)} USD.`);
  return {
    at: attempt.finishedAt,
    type: `attempt.${attempt.status}`,
    outcome: null,
    reasonCode,
    message: parts.join(' '),
    rule: null,
    actor: `worker:${formatId('wkr', attempt.workerId)}`,
    receiptId: null,
    runId: attempt.runId,
    count: 1,
    lastAt: attempt.finishedAt,
  };
}

const ENDINGS: Readonly<Record<string, string>> = {
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'was cancelled',
  lost: 'was lost with its lease',
  released: 'was handed back',
};
