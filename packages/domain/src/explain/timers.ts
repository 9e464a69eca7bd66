/**
 * *Why* of what makes work by itself: a schedule or a goal. Where it stands, what it waits for and when it goes on
 * comes first; its last decisions are the evidence. What became of a run is told by the run itself. Pure.
 */
import type { GoalId, ReceiptId, RunId, ScheduleId } from '../ids.js';
import { formatId } from '../ids.js';
import { isTerminal } from '../lifecycle.js';
import { isReasonCode, messageOf } from '../reasons.js';
import { counted, durationInWords, quoted } from '../sentences.js';
import type { Explained, Step } from './explanation.js';
import type { Facts } from './facts.js';
import { foldEqual } from './fold.js';
import { stepsOf } from './steps.js';
import { runWords, type WaitingWords } from './summary.js';

interface TimerFact {
  readonly route: string;
  readonly note: string | null;
  /** Null: it has no further time, or is paused. */
  readonly nextAt: Date | null;
}

export interface ScheduleFact extends TimerFact {
  readonly id: ScheduleId;
  readonly cron: string;
  readonly timezone: string;
  readonly pausedAt: Date | null;
  readonly pausedBy: string | null;
  /** Requests of people that no ticker has carried out yet. */
  readonly asked: number;
  readonly ticks: readonly TickFact[];
}

/** One nominal time, or a range of them with one fate. */
export interface TickFact {
  readonly origin: 'timer' | 'trigger' | 'backfill';
  readonly nominalAt: Date;
  readonly untilAt: Date;
  readonly count: number;
  readonly bucket: 'fired' | 'buffered' | 'skipped' | 'missed' | 'excluded' | 'paused' | 'discarded';
  readonly reasonCode: string;
  readonly receiptId: ReceiptId | null;
}

export interface GoalFact extends TimerFact {
  readonly id: GoalId;
  readonly repository: string;
  /** CEL. */
  readonly until: string;
  readonly state: 'active' | 'paused' | 'done' | 'given-up';
  readonly stateAt: Date;
  readonly stateBy: string | null;
  readonly reasonCode: string | null;
  readonly phase: 'idle' | 'observing' | 'working';
  readonly runId: RunId | null;
  readonly runs: number;
  readonly maxRuns: number;
  readonly costUsd: number;
  readonly deadlineAt: Date;
  readonly observations: readonly ObservationFact[];
}

export interface ObservationFact {
  readonly number: number;
  readonly outcome: 'holds' | 'open' | 'unknown';
  readonly detail: string | null;
  readonly observedAt: Date;
  readonly runId: RunId;
  readonly receiptId: ReceiptId | null;
}

export interface TimerInput<Fact> {
  readonly timer: Fact;
  /** Of the receipts and runs that it names. */
  readonly facts: Facts;
  readonly waiting: WaitingWords | null;
  readonly now: Date;
}

export function explainSchedule({ timer, facts, waiting, now }: TimerInput<ScheduleFact>): Explained {
  const told = new Set(facts.receipts.map(({ id }) => id));
  const bare = timer.ticks.filter(({ receiptId }) => receiptId === null || !told.has(receiptId));
  return {
    kind: 'schedule',
    summary: [
      `The schedule ${quoted(timer.cron)} (${timer.timezone}) of route ${timer.route} ${scheduleWords(timer, now)}`,
      lastTickWords(timer.ticks, now),
      timer.asked === 0 ? '' : `${counted(timer.asked, 'request')} of people not carried out yet.`,
      ...liveWords(facts, waiting),
    ]
      .filter((part) => part !== '')
      .join(' '),
    steps: inOrder([...decisionsOf(facts), ...bare.map(tickStep)].map((step) => ({ step, at: step.at }))),
    candidates: [],
  };
}

export function explainGoal({ timer, facts, waiting, now }: TimerInput<GoalFact>): Explained {
  const cost = timer.costUsd === 0 ? '' : `, ${timer.costUsd.toFixed(2)} USD`;
  return {
    kind: 'goal',
    summary: [
      `The goal of route ${timer.route} on ${timer.repository}, ${quoted(timer.until)}, ${goalWords(timer, now)}`,
      lastLookWords(timer.observations, now),
      `So far ${timer.runs} of ${counted(timer.maxRuns, 'run')}${cost}.`,
      timer.state === 'active' ? `It is given up at ${timer.deadlineAt.toISOString()}.` : '',
      ...liveWords(facts, waiting),
    ]
      .filter((part) => part !== '')
      .join(' '),
    steps: inOrder([
      ...timer.observations.map((look) => ({ step: lookStep(look), at: placeOf(look, facts) })),
      ...decisionsOf(facts).map((step) => ({ step, at: step.at })),
    ]),
    candidates: [],
  };
}

function scheduleWords({ nextAt, pausedAt, pausedBy, note }: ScheduleFact, now: Date): string {
  if (pausedAt !== null) {
    const by = pausedBy === null ? '' : ` by ${pausedBy}`;
    return `is paused since ${instantWords(pausedAt, now)}${by}${noteWords(note)}. It waits for a resume; the times until then are counted and never run.`;
  }
  return nextAt === null
    ? 'has no further time.'
    : `is active; its next time is ${instantWords(nextAt, now)}.`;
}

function goalWords(goal: GoalFact, now: Date): string {
  const { state, stateAt, stateBy, reasonCode, note, phase, runId, nextAt } = goal;
  const by = stateBy === null ? '' : ` by ${stateBy}`;
  const run = runId === null ? 'a run' : formatId('run', runId);
  switch (state) {
    case 'done':
      return `holds since ${instantWords(stateAt, now)}; nothing more is begun.`;
    case 'given-up': {
      const reason = reasonCode !== null && isReasonCode(reasonCode) ? ` ${messageOf(reasonCode)}` : '';
      return `was given up ${instantWords(stateAt, now)}${by} (${reasonCode ?? 'no reason'}).${reason} It waits for a reset.`;
    }
    case 'paused':
      return `is paused since ${instantWords(stateAt, now)}${by}${noteWords(note)}. It waits for a resume.`;
    case 'active':
      if (phase === 'observing') return `is being looked at by ${run}.`;
      if (phase === 'working') return `does not hold yet; the agent works on it in ${run}.`;
      return nextAt === null
        ? 'is active; it is looked at as soon as somebody is free.'
        : `is active; the next look is ${instantWords(nextAt, now)}.`;
  }
}

const BUCKET_WORDS: Readonly<Record<TickFact['bucket'], string>> = {
  fired: 'fired',
  buffered: 'was admitted, and waits behind the run before it',
  skipped: 'was skipped by the overlap rule',
  missed: 'was missed',
  excluded: 'lay on a day that the schedule leaves out',
  paused: 'passed in a pause',
  discarded: 'was dropped when the schedule was changed',
};

const ORIGIN_WORDS: Readonly<Record<TickFact['origin'], string>> = {
  timer: 'Its time',
  trigger: 'A "run now"',
  backfill: 'A back-filled time',
};

function lastTickWords(ticks: readonly TickFact[], now: Date): string {
  const last = newestOf(ticks, ({ untilAt }) => untilAt);
  if (last === null) return 'No time of it has passed yet.';
  return `The last one, ${instantWords(last.untilAt, now)}, ${BUCKET_WORDS[last.bucket]} (${last.reasonCode}).`;
}

const OUTCOME_WORDS: Readonly<Record<ObservationFact['outcome'], string>> = {
  holds: 'the condition is met',
  open: 'the condition is not met',
  unknown: 'it could not be told',
};

const lookWords = ({ number, outcome, detail }: ObservationFact): string =>
  `Look ${number}: ${OUTCOME_WORDS[outcome]}${detail === null ? '' : ` (${quoted(detail)})`}.`;

function lastLookWords(observations: readonly ObservationFact[], now: Date): string {
  const last = newestOf(observations, ({ observedAt }) => observedAt);
  return last === null
    ? 'It was not looked at yet.'
    : `${lookWords(last).replace(/\.$/, '')}, ${instantWords(last.observedAt, now)}.`;
}

/** A run that is not over says itself what it waits for. */
const liveWords = ({ runs, operations }: Facts, waiting: WaitingWords | null): readonly string[] =>
  runs.filter(({ status }) => !isTerminal(status)).map((run) => runWords(run, operations, waiting));

/** Whose signal it was is known here, so that equal decisions are one step. */
function decisionsOf(facts: Facts): readonly Step[] {
  const plain = { ...facts, events: [], operations: [], attempts: [], looks: [] };
  const messages = new Map(facts.receipts.map(({ id, kind, message }) => [id, { kind, message }]));
  return stepsOf(plain).map((step) => {
    const receipt = step.receiptId === null ? undefined : messages.get(step.receiptId);
    return receipt?.kind === 'decision' ? { ...step, message: receipt.message } : step;
  });
}

/** A look stands before the decision that it led to: their transaction wrote them in an order of its own. */
function placeOf({ observedAt, receiptId }: ObservationFact, { receipts }: Facts): Date {
  const decided = receipts.find(({ id }) => id === receiptId)?.at;
  return decided !== undefined && decided < observedAt ? decided : observedAt;
}

const NOTHING_DECIDED = { outcome: null, rule: null, actor: null } as const;

const tickStep = (tick: TickFact): Step => ({
  ...NOTHING_DECIDED,
  at: tick.nominalAt,
  type: `schedule.${tick.bucket}`,
  reasonCode: tick.reasonCode,
  message: `${ORIGIN_WORDS[tick.origin]} ${BUCKET_WORDS[tick.bucket]}.`,
  receiptId: tick.receiptId,
  runId: null,
  count: tick.count,
  lastAt: tick.untilAt,
});

const lookStep = (look: ObservationFact): Step => ({
  ...NOTHING_DECIDED,
  at: look.observedAt,
  type: 'goal.observed',
  reasonCode: null,
  message: lookWords(look),
  receiptId: look.receiptId,
  runId: look.runId,
  count: 1,
  lastAt: look.observedAt,
});

const inOrder = (placed: readonly { readonly step: Step; readonly at: Date }[]): readonly Step[] =>
  foldEqual([...placed].sort((a, b) => a.at.getTime() - b.at.getTime()).map(({ step }) => step));

function newestOf<T>(all: readonly T[], at: (one: T) => Date): T | null {
  return all.reduce<T | null>(
    (newest, one) => (newest === null || at(one).getTime() > at(newest).getTime() ? one : newest),
    null,
  );
}

const noteWords = (note: string | null): string => (note === null ? '' : `, ${quoted(note)}`);

/** `2026-01-31T13:50:00.000Z (2 min 30 s ago)`, `… (in 6 s)`. */
function instantWords(at: Date, now: Date): string {
  const ms = at.getTime() - now.getTime();
  const away = ms > 0 ? `in ${durationInWords(ms)}` : `${durationInWords(-ms)} ago`;
  return `${at.toISOString()} (${away})`;
}
