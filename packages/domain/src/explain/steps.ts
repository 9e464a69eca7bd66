/**
 * Facts in the order of cause. By time; but rows of one transaction are written in an order of its own, so a decision
 * stands before the run that it made whatever the clock says, and where two rows share an instant the attempt's end
 * stands before the run's, and the closing receipt last.
 */
import { formatId } from '../ids.js';
import { isReasonCode, messageOf } from '../reasons.js';
import { counted, quoted } from '../sentences.js';
import { eventMessage, receiptOf } from './event-words.js';
import type { Step } from './explanation.js';
import type { AttemptFact, EventFact, Facts, FeedbackFact, LookFact, ReceiptFact } from './facts.js';
import { foldEqual } from './fold.js';

interface Ranked {
  readonly step: Step;
  /** Where it stands in time, in ms. */
  readonly atMs: number;
  readonly rank: number;
  /** UUIDv7s of one process grow; they order what the rank does not. */
  readonly id: string;
}

const RANK = { decision: 0, attempt: 1, event: 2, closing: 3, aside: 4 } as const;

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
    ...facts.feedback.map((told) => aside(feedbackStep(told), told.receiptId)),
    ...facts.looks.map((look) => aside(lookStep(look), `${look.source}/${look.repository}`)),
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

const aside = (step: Step, id: string): Ranked => ({ step, atMs: step.at.getTime(), rank: RANK.aside, id });

const NOTHING_DECIDED = {
  outcome: null,
  rule: null,
  actor: null,
  receiptId: null,
  runId: null,
  count: 1,
} as const;

/** What a person was told, or why nobody told them. */
function feedbackStep(told: FeedbackFact): Step {
  const at = told.settledAt ?? told.at;
  const where = `${told.repository}#${told.number}`;
  const link = told.url === null ? '' : `: ${told.url}`;
  const detail = told.detail === null ? '' : ` ${quoted(told.detail)}`;
  const words: Readonly<Record<string, string>> = {
    intended: `The refusal is to be told at ${where}, where it was asked.`,
    attempted: `The refusal is being told at ${where}.`,
    ambiguous: `Whether the refusal was told at ${where} is unknown; it is read before it is told again.${detail}`,
    confirmed: `The refusal was told at ${where}, where it was asked${link}.`,
    abandoned: `The refusal was not told at ${where}.${detail}`,
  };
  return {
    ...NOTHING_DECIDED,
    at,
    type: `feedback.${told.state}`,
    reasonCode: told.reasonCode,
    message: words[told.state] ?? `The refusal at ${where} is ${told.state}.`,
    receiptId: told.receiptId,
    lastAt: at,
  };
}

/** `The last look at acme/api (source acme) found nothing new, as 12 looks before it.` */
function lookStep({ source, repository, lookedAt, outcome, detail, quietLooks }: LookFact): Step {
  const before = quietLooks > 1 ? `, like ${counted(quietLooks - 1, 'look')} before it` : '';
  const said = detail === null ? '' : ` ${quoted(detail)}`;
  return {
    ...NOTHING_DECIDED,
    at: lookedAt,
    type: 'source.looked',
    reasonCode: quietLooks > 0 ? 'NOTHING_FOUND' : null,
    message:
      quietLooks > 0
        ? `The last look at ${repository} (source ${source}) found nothing new${before}.`
        : outcome === 'looked'
          ? `The last look at ${repository} (source ${source}) was dealt with.${said}`
          : `The last look at ${repository} (source ${source}) failed (${outcome}).${said}`,
    lastAt: lookedAt,
  };
}
