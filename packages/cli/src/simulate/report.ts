/** The same signals, decided in memory by the active policy and by another: figures of both, and what differs. */
import {
  type Arrival,
  differencesOf,
  figuresOf,
  type SignalDifference,
  type SimulationFigures,
  simulate,
} from '@headgate/admission';
import { type Policy, type RoutePolicy, systemIds } from '@headgate/domain';
import type { RouteEstimate } from '@headgate/store';

export interface SimulationReport {
  /** Where the signals are from. */
  readonly from: 'receipts' | 'forge';
  readonly since: Date;
  readonly until: Date;
  /** Of the active policy; null: none is active, or no instance was there to ask. */
  readonly version: number | null;
  readonly signals: number;
  /** Deliveries that cannot be decided again: their payload is no longer kept, or cannot be read. */
  readonly lost: number;
  /** False: something could not be looked at, so that there may be more than was seen. */
  readonly complete: boolean;
  /** How each repository was looked at; none where the receipts were read. */
  readonly looks: readonly RepositoryLook[];
  /** Null as `version`. */
  readonly active: SimulationFigures | null;
  /** Null: no other policy was given. */
  readonly other: SimulationFigures | null;
  readonly differences: readonly (SignalDifference & { readonly signal: string; readonly at: Date })[];
}

export interface RepositoryLook {
  readonly source: string;
  readonly repository: string;
  readonly outcome: 'whole' | 'partial' | 'denied' | 'limited' | 'unavailable';
  readonly signals: number;
  /** What was not seen, and why; null when it was whole. */
  readonly detail: string | null;
  /** The rate limit is met: not before this. */
  readonly until: Date | null;
}

export interface SimulationQuestion extends Pick<SimulationReport, 'from' | 'since' | 'until' | 'looks'> {
  readonly active: { readonly version: number; readonly policy: Policy } | null;
  readonly other: Policy | null;
  readonly estimates: readonly RouteEstimate[];
  /** Deliveries that are known to be lost already. */
  readonly lost: number;
  /** One for each signal, by the same positions for both policies; null: it cannot be decided again. */
  readonly arrivals: (policy: Policy) => readonly (Arrival | null)[];
}

export function reportOf(question: SimulationQuestion): SimulationReport {
  const { from, since, until, active, other, looks, lost } = question;
  const was = active === null ? null : decide(question, active.policy);
  const is = other === null ? null : decide(question, other);
  const known = (was ?? is)?.known ?? [];
  const differences = was === null || is === null ? [] : differencesOf(was.decided, is.decided);
  return {
    from,
    since,
    until,
    version: active?.version ?? null,
    signals: known.length,
    lost: lost + ((was ?? is)?.lost ?? 0),
    complete: looks.every(({ outcome }) => outcome === 'whole'),
    looks,
    active: was?.figures ?? null,
    other: is?.figures ?? null,
    differences: differences.map((one) => {
      const arrival = known[one.arrival];
      const { subject = null, type = '' } = arrival?.submission.signal ?? {};
      return { ...one, at: arrival?.at ?? since, signal: subject === null ? type : `${type} ${subject}` };
    }),
  };
}

function decide({ arrivals, until, estimates }: SimulationQuestion, policy: Policy) {
  const all = arrivals(policy);
  const known = all.filter((one) => one !== null);
  const decided = simulate(known, { policy, ids: systemIds, until, durationMs: durationOf(estimates) });
  const figures = figuresOf(decided, known.length, costOf(estimates));
  return { decided, known, lost: all.length - known.length, figures };
}

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
