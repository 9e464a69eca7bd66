/** The recorded signals of some days, decided again in memory: by the active policy, and by another. */
import {
  type Arrival,
  differencesOf,
  figuresOf,
  recordedSubmission,
  type SignalDifference,
  type SimulationFigures,
  simulate,
} from '@headgate/admission';
import { type Policy, type RoutePolicy, systemIds } from '@headgate/domain';
import {
  databaseNow,
  type Pool,
  policies,
  type RecordedReceipt,
  type RouteEstimate,
  recordedReceipts,
} from '@headgate/store';

export interface SimulationReport {
  readonly since: Date;
  readonly until: Date;
  readonly version: number;
  readonly signals: number;
  /** Deliveries that cannot be decided again: their payload is no longer kept, or cannot be read. */
  readonly lost: number;
  readonly active: SimulationFigures;
  /** Null: no other policy was given. */
  readonly other: SimulationFigures | null;
  readonly differences: readonly (SignalDifference & { readonly signal: string; readonly at: Date })[];
}

/** Null: no policy is active. */
export async function simulateRecorded(
  pool: Pool,
  sinceMs: number,
  other: Policy | null,
): Promise<SimulationReport | null> {
  const read = await pool.use(async (c) => {
    const head = await policies.head(c);
    if (head === null) return null;
    const until = await databaseNow(c);
    const since = new Date(until.getTime() - sinceMs);
    const recorded: RecordedReceipt[] = [];
    for await (const one of recordedReceipts.read(c, since)) recorded.push(one);
    return {
      head,
      since,
      until,
      recorded,
      lost: await recordedReceipts.lost(c, since),
      estimates: await recordedReceipts.estimates(c, new Date(until.getTime() - ESTIMATE_WINDOW_MS)),
    };
  });
  if (read === null) return null;
  const { head, since, until, recorded, estimates } = read;
  // The same signals for both: one of a source that only one of them has is still read.
  const sources = [...(other?.sources ?? []), ...head.policy.sources];
  const arrivals = (policy: Policy): readonly (Arrival | null)[] =>
    recorded.map((one) => {
      const submission = recordedSubmission(one, policy, [...policy.sources, ...sources]);
      return submission === null ? null : { at: one.receivedAt, submission };
    });
  const figures = (policy: Policy) => {
    const known = arrivals(policy).filter((one) => one !== null);
    const decided = simulate(known, { policy, ids: systemIds, until, durationMs: durationOf(estimates) });
    return { decided, known, figures: figuresOf(decided, known.length, costOf(estimates)) };
  };
  const active = figures(head.policy);
  const changed = other === null ? null : figures(other);
  const differences = changed === null ? [] : differencesOf(active.decided, changed.decided);
  return {
    since,
    until,
    version: head.version,
    signals: active.known.length,
    lost: read.lost + recorded.length - active.known.length,
    active: active.figures,
    other: changed?.figures ?? null,
    differences: differences.map((one) => {
      const arrival = active.known[one.arrival];
      const { subject = null, type = '' } = arrival?.submission.signal ?? {};
      return { ...one, at: arrival?.at ?? since, signal: subject === null ? type : `${type} ${subject}` };
    }),
  };
}

const ESTIMATE_WINDOW_MS = 30 * 86_400_000;
/** How long a run of a route takes that has never run. */
const UNKNOWN_DURATION_MS = 600_000;

const durationOf =
  (estimates: readonly RouteEstimate[]) =>
  ({ id, limits }: RoutePolicy): number => {
    const known = estimates.find(({ route }) => route === id);
    return known === undefined
      ? Math.min(UNKNOWN_DURATION_MS, limits.wallClockMs)
      : known.medianSeconds * 1_000;
  };

const costOf =
  (estimates: readonly RouteEstimate[]) =>
  ({ id }: RoutePolicy): number | null =>
    estimates.find(({ route }) => route === id)?.averageUsd ?? null;
