/** The timeline of a run, as numbers: which lanes, which bars, and where time is cut short. Pure. */
import type { RunAttempt, RunDetail } from '@headgate/sdk';
import { beatsOf } from './beats.js';

export interface Bar {
  readonly stage: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** It goes on. */
  readonly isOpen: boolean;
}

export interface Pin {
  readonly atMs: number;
  readonly label: string;
  readonly state: string;
}

/** An attempt whose holder fell silent. */
export interface Loss {
  /** When its lease ran out; null: not known. */
  readonly expiredMs: number | null;
  readonly lostMs: number;
}

export interface Lane {
  /** Null: the time that the run waited. */
  readonly attempt: RunAttempt | null;
  readonly bars: readonly Bar[];
  readonly pins: readonly Pin[];
  /** Renewals of the lease. */
  readonly beats: readonly number[];
  /** Until when the lease stands, while it does. */
  readonly leaseUntilMs: number | null;
  readonly loss: Loss | null;
  /** The attempt before it was lost. */
  readonly hasTakenOver: boolean;
}

const WAITING: readonly string[] = ['ADMITTED', 'WAITING_APPROVAL', 'WAITING_CAPACITY', 'QUEUED'];

export function lanesOf(run: RunDetail, nowMs: number): readonly Lane[] {
  const endMs = run.finishedAt === null ? nowMs : Date.parse(run.finishedAt);
  const waits: Lane = {
    attempt: null,
    bars: waitingBars(run, endMs),
    pins: [],
    beats: [],
    leaseUntilMs: null,
    loss: null,
    hasTakenOver: false,
  };
  const lanes = run.attempts.map((attempt, index) => laneOf(run, attempt, index, nowMs));
  return waits.bars.length === 0 ? lanes : [waits, ...lanes];
}

/** From each event into a waiting status until the next event of the run that leaves it. */
function waitingBars({ events, createdAt, attempts }: RunDetail, endMs: number): readonly Bar[] {
  const moves = events.filter((event) => event.to !== null);
  const bars: Bar[] = [];
  for (const [index, event] of moves.entries()) {
    if (event.to === null || !WAITING.includes(event.to)) continue;
    const next = moves[index + 1];
    const fromMs = Date.parse(event.at);
    const toMs = next === undefined ? endMs : Date.parse(next.at);
    const isOpen = next === undefined;
    const last = bars.at(-1);
    if (last !== undefined && last.stage === event.to && last.toMs === fromMs) {
      bars[bars.length - 1] = { ...last, toMs, isOpen };
    } else if (toMs > fromMs) {
      bars.push({ stage: event.to, fromMs, toMs, isOpen });
    }
  }
  // A run whose first events are no longer kept: it waited until its first claim.
  const first = attempts[0];
  if (bars.length === 0 && first !== undefined && moves.length === 0) {
    return [
      { stage: 'QUEUED', fromMs: Date.parse(createdAt), toMs: Date.parse(first.startedAt), isOpen: false },
    ];
  }
  return bars;
}

function laneOf(run: RunDetail, attempt: RunAttempt, index: number, nowMs: number): Lane {
  const fromMs = Date.parse(attempt.startedAt);
  const isNewest = index === run.attempts.length - 1;
  const toMs = attempt.finishedAt === null ? Math.max(nowMs, fromMs) : Date.parse(attempt.finishedAt);
  const isOpen = attempt.finishedAt === null;
  const moves = run.events.filter(
    (event) =>
      event.to !== null &&
      !WAITING.includes(event.to) &&
      (event.attempt === null
        ? Date.parse(event.at) >= fromMs && Date.parse(event.at) < toMs
        : event.attempt === attempt.number),
  );
  const stages = moves.filter((event) => Date.parse(event.at) < toMs || isOpen);
  const starts = [
    ...(stages.length === 0 || Date.parse(stages[0]?.at ?? '') > fromMs
      ? [{ stage: 'CLAIMED', atMs: fromMs }]
      : []),
    ...stages.map((event) => ({ stage: event.to ?? '', atMs: Date.parse(event.at) })),
  ];
  const bars = starts.map(({ stage, atMs }, place): Bar => {
    const next = starts[place + 1];
    return { stage, fromMs: atMs, toMs: next?.atMs ?? toMs, isOpen: next === undefined && isOpen };
  });
  const pins = run.operations.flatMap((operation): Pin[] => {
    const at = operation.settledAt ?? operation.attemptedAt ?? operation.intendedAt;
    const atMs = Date.parse(at);
    // An operation may be settled by the reconciler, after its attempt: it hangs on the newest lane then.
    if (atMs < fromMs || (atMs > toMs && !isNewest)) return [];
    return [{ atMs, label: operation.kind, state: operation.status }];
  });
  return {
    attempt,
    bars: bars.filter((bar) => bar.toMs > bar.fromMs || bar.isOpen),
    pins,
    beats: beatsOf(attempt.lease),
    leaseUntilMs: isOpen && run.lease !== null ? Date.parse(run.lease.expiresAt) : null,
    loss: lossOf(attempt),
    hasTakenOver: run.attempts[index - 1]?.status === 'lost',
  };
}

function lossOf({ lease: { lostAt, expiresAt } }: RunAttempt): Loss | null {
  if (lostAt === null) return null;
  return { lostMs: Date.parse(lostAt), expiredMs: expiresAt === null ? null : Date.parse(expiresAt) };
}

export interface Scale {
  readonly fromMs: number;
  readonly toMs: number;
  /** 0 to 100. */
  place(atMs: number): number;
  /** Where time was cut short, and how much of it. */
  readonly cuts: readonly { readonly at: number; readonly ms: number }[];
}

/** Waiting longer than this share of the time worked is drawn that long. */
const IDLE_SHARE = 0.35;
const LEAST_MS = 1_000;

/**
 * Linear while an attempt works; a wait of hours before a run of seconds is cut short, and says so. What is open ends at
 * `toMs`.
 */
export function scaleOf(lanes: readonly Lane[]): Scale {
  const ends = lanes.flatMap(({ bars, pins }) => [
    ...bars.flatMap((bar) => [bar.fromMs, bar.toMs]),
    ...pins.map((pin) => pin.atMs),
  ]);
  const fromMs = ends.length === 0 ? 0 : Math.min(...ends);
  const toMs = Math.max(fromMs + LEAST_MS, ...ends);
  const worked = merged(lanes.filter((lane) => lane.attempt !== null).flatMap((lane) => lane.bars));
  const workedMs = worked.reduce((sum, [from, to]) => sum + to - from, 0);
  const longest = workedMs === 0 ? Number.POSITIVE_INFINITY : Math.max(workedMs * IDLE_SHARE, LEAST_MS);
  const pieces: { from: number; to: number; shown: number }[] = [];
  let at = fromMs;
  for (const [from, to] of [...worked, [toMs, toMs] as const]) {
    if (from > at) pieces.push({ from: at, to: from, shown: Math.min(from - at, longest) });
    if (to > from) pieces.push({ from, to, shown: to - from });
    at = Math.max(at, to);
  }
  const total = pieces.reduce((sum, piece) => sum + piece.shown, 0) || 1;
  const place = (atMs: number): number => {
    let shown = 0;
    for (const piece of pieces) {
      if (atMs >= piece.to) shown += piece.shown;
      else if (atMs > piece.from) shown += (piece.shown * (atMs - piece.from)) / (piece.to - piece.from);
    }
    return Math.min(100, (100 * shown) / total);
  };
  const cuts = pieces
    .filter((piece) => piece.shown < piece.to - piece.from)
    .map((piece) => ({ at: place((piece.from + piece.to) / 2), ms: piece.to - piece.from }));
  return { fromMs, toMs, place, cuts };
}

function merged(bars: readonly Bar[]): readonly (readonly [number, number])[] {
  const spans: [number, number][] = [];
  for (const { fromMs, toMs } of [...bars].sort((a, b) => a.fromMs - b.fromMs)) {
    const last = spans.at(-1);
    if (last !== undefined && fromMs <= last[1]) last[1] = Math.max(last[1], toMs);
    else spans.push([fromMs, toMs]);
  }
  return spans;
}
