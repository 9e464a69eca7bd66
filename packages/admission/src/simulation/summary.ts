/** A simulation in numbers, and what is different between two of the same signals. */
import type { ReasonCode, RoutePolicy } from '@headgate/domain';
import type { Simulated } from './simulate.js';

export interface RouteFigures {
  readonly route: string;
  readonly runs: number;
  /** Null: no run of the route has ever told its cost. */
  readonly estimatedUsd: number | null;
  /** Null: at least one run has no limit. */
  readonly maxUsd: number | null;
}

export interface SimulationFigures {
  readonly signals: number;
  readonly runs: number;
  /** Pieces of work that may end in a pull request or a published branch. */
  readonly pullRequests: number;
  /** What did not lead to a run, by reason. */
  readonly skipped: Readonly<Partial<Record<ReasonCode, number>>>;
  readonly routes: readonly RouteFigures[];
  readonly estimatedUsd: number | null;
  readonly maxUsd: number | null;
}

export function figuresOf(
  decided: readonly Simulated[],
  signals: number,
  costUsdOf: (route: RoutePolicy) => number | null,
): SimulationFigures {
  const runs = decided.flatMap(({ run }) => run ?? []);
  const skipped: Partial<Record<ReasonCode, number>> = {};
  for (const { run, reasonCode } of decided) {
    if (run === null) skipped[reasonCode] = (skipped[reasonCode] ?? 0) + 1;
  }
  const names = [...new Set(runs.map(({ route }) => route.id))].sort();
  const routes = names.map((name): RouteFigures => {
    const mine = runs.filter(({ route }) => route.id === name).map(({ route }) => route);
    return {
      route: name,
      runs: mine.length,
      estimatedUsd: sumOrNull(mine.map(costUsdOf)),
      maxUsd: sumOrNull(mine.map(({ limits }) => limits.costUsd)),
    };
  });
  const published = runs.filter(({ route, repository }) => route.mode !== 'observe' && repository !== null);
  return {
    signals,
    runs: runs.length,
    pullRequests: new Set(published.map(({ tenant, workKey }) => `${tenant}\u0000${workKey}`)).size,
    skipped,
    routes,
    estimatedUsd: sumOrNull(routes.map(({ estimatedUsd }) => estimatedUsd)),
    maxUsd: sumOrNull(routes.map(({ maxUsd }) => maxUsd)),
  };
}

const sumOrNull = (amounts: readonly (number | null)[]): number | null =>
  amounts.some((amount) => amount === null)
    ? null
    : amounts.reduce<number>((sum, one) => sum + (one ?? 0), 0);

export interface SignalDifference {
  /** Position among the arrivals. */
  readonly arrival: number;
  /** `route REASON`, in the order of time. */
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** Signals that the two decide differently. */
export function differencesOf(
  before: readonly Simulated[],
  after: readonly Simulated[],
): readonly SignalDifference[] {
  const [old, fresh] = [wordsByArrival(before), wordsByArrival(after)];
  const arrivals = [...new Set([...old.keys(), ...fresh.keys()])].sort((a, b) => a - b);
  return arrivals.flatMap((arrival) => {
    const [was, is] = [old.get(arrival) ?? [], fresh.get(arrival) ?? []];
    return was.join('\n') === is.join('\n') ? [] : [{ arrival, before: was, after: is }];
  });
}

function wordsByArrival(decided: readonly Simulated[]): ReadonlyMap<number, readonly string[]> {
  const words = new Map<number, string[]>();
  for (const { arrival, route, reasonCode } of decided) {
    const mine = words.get(arrival) ?? [];
    // A repeat is answered for the delivery: that it names a route is by the way.
    mine.push(route === null || reasonCode === 'DUPLICATE_DELIVERY' ? reasonCode : `${route} ${reasonCode}`);
    words.set(arrival, mine);
  }
  return words;
}
