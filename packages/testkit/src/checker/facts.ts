/** What several checks need, derived once: calls, the lease of each attempt with its life, events per run. */
import { HISTORY_OPS, type HistoryOp } from '@headgate/telemetry';
import { type Call, instantMs, pairCalls } from './calls.js';
import { groupBy } from './collect.js';
import { chainOfRun, type RunChain } from './commit-order.js';
import type { AttemptRow, CheckerInput, CheckerSettings, RunRow } from './model.js';

/** One lease from its claim to its end. */
export interface LeaseLife {
  readonly attempt: AttemptRow;
  readonly runId: string;
  readonly leaseId: string;
  /** The claim as its worker saw it; null when no worker recorded it. */
  readonly claim: Call | null;
  readonly renewals: readonly Call[];
  /** The reap that ended it. */
  readonly reap: Call | null;
  /** A reap that only gave it more time (MASS_EXPIRY). */
  readonly graces: readonly Call[];
  readonly next: AttemptRow | null;
  readonly nextClaim: Call | null;
}

export interface Facts {
  readonly input: CheckerInput;
  readonly settings: CheckerSettings;
  readonly calls: readonly Call[];
  callsOf(...ops: readonly HistoryOp[]): readonly Call[];
  readonly leases: readonly LeaseLife[];
  readonly leaseById: ReadonlyMap<string, LeaseLife>;
  readonly runById: ReadonlyMap<string, RunRow>;
  readonly attemptsByRun: ReadonlyMap<string, readonly AttemptRow[]>;
  readonly chains: ReadonlyMap<string, RunChain>;
}

const isGrace = (call: Call): boolean => call.result['graced'] === true;

function leaseLives(
  attemptsByRun: ReadonlyMap<string, readonly AttemptRow[]>,
  calls: readonly Call[],
): LeaseLife[] {
  const byLease = groupBy(calls, (call) => call.leaseId);
  const of = (leaseId: string, op: HistoryOp): Call[] =>
    (byLease.get(leaseId) ?? []).filter((call) => call.op === op);
  const claimOf = (leaseId: string): Call | null =>
    of(leaseId, HISTORY_OPS.claim).find((call) => call.outcome === 'ok') ?? null;
  return [...attemptsByRun.values()].flatMap((attempts) =>
    attempts.map((attempt, index) => {
      const next = attempts[index + 1] ?? null;
      const reaps = of(attempt.leaseId, HISTORY_OPS.reap).filter((call) => call.outcome === 'ok');
      return {
        attempt,
        runId: attempt.runId,
        leaseId: attempt.leaseId,
        claim: claimOf(attempt.leaseId),
        renewals: of(attempt.leaseId, HISTORY_OPS.renew),
        reap: reaps.find((call) => !isGrace(call)) ?? null,
        graces: reaps.filter(isGrace),
        next,
        nextClaim: next === null ? null : claimOf(next.leaseId),
      };
    }),
  );
}

export function gatherFacts(input: CheckerInput, settings: CheckerSettings): Facts {
  const calls = pairCalls(input.history);
  const attemptsByRun = groupBy(
    [...input.attempts].sort((a, b) => a.number - b.number),
    (attempt) => attempt.runId,
  );
  const leases = leaseLives(attemptsByRun, calls);
  const events = groupBy(input.runEvents, (event) => event.runId);
  const chains = [...events].map(([runId, list]) => [runId, chainOfRun(list, input.eventOrder)] as const);
  return {
    input,
    settings,
    calls,
    callsOf: (...ops) => calls.filter((call) => (ops as readonly string[]).includes(call.op)),
    leases,
    leaseById: new Map(leases.map((lease) => [lease.leaseId, lease])),
    runById: new Map(input.runs.map((run) => [run.id, run])),
    attemptsByRun,
    chains: new Map(chains),
  };
}

/**
 * The latest expiry that surely stood in the database before `beforeMs`: from the claim, the renewals and
 * graces that were answered ok. A claim that recorded no instants is taken from its attempt and the TTL.
 */
export function knownExpiryMs(facts: Facts, lease: LeaseLife, beforeMs: number): number | null {
  const { startedAtMs } = lease.attempt;
  const dated: { readonly atMs: number; readonly expiresAtMs: number }[] = [];
  let undated = false;
  const note = (call: Call, atField: string): void => {
    if (call.outcome !== 'ok') return;
    const expiresAtMs = instantMs(call, 'expiresAt');
    const atMs = instantMs(call, atField);
    if (expiresAtMs === null || atMs === null) undated ||= call.op === HISTORY_OPS.renew;
    else if (atMs < beforeMs) dated.push({ atMs, expiresAtMs });
  };
  if (lease.claim !== null) note(lease.claim, 'acquiredAt');
  // The attempt's row is written after its lease: beside the claim's own instants its estimate would seem the later one.
  if (dated.length === 0) dated.push({ atMs: startedAtMs, expiresAtMs: startedAtMs + facts.settings.ttlMs });
  for (const renewal of lease.renewals) note(renewal, 'renewedAt');
  for (const grace of lease.graces) note(grace, 'reapedAt');
  // A renewal without its instants moved the expiry to where nobody wrote down: better to know nothing.
  if (undated) return null;
  dated.sort((a, b) => a.atMs - b.atMs);
  return dated.at(-1)?.expiresAtMs ?? null;
}
