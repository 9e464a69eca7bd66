/** What an act on many runs is about, and what it came to. Pure. */
import type { BulkFilter, BulkRun, RunQuery } from '@headgate/sdk';

/** The rows that were chosen, whatever else is filtered by. */
export const filterOfRows = (chosen: ReadonlySet<string>): BulkFilter => ({ ids: [...chosen].join(',') });

/**
 * All that the page's filter shows. Null: nothing is filtered by, and nobody means every run there is; or by what is only
 * true of this moment, why a run waits.
 */
export function filterOfQuery(query: RunQuery): BulkFilter | null {
  const { publicStatus, route, repository, tenant, since, waitingReason } = query;
  const filter = {
    ...(publicStatus === undefined ? {} : { publicStatus }),
    ...(route === undefined ? {} : { route }),
    ...(repository === undefined ? {} : { repository }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(since === undefined ? {} : { since }),
  };
  return waitingReason !== undefined || Object.keys(filter).length === 0 ? null : filter;
}

/** Runs that were left alone for the same reason. */
export interface LeftOut {
  readonly code: string;
  readonly detail: string | null;
  readonly runIds: readonly string[];
}

export interface Came {
  readonly done: number;
  /** A worker was asked to stop. */
  readonly requested: number;
  readonly leftOut: readonly LeftOut[];
}

export function cameOf(runs: readonly BulkRun[]): Came {
  const reasons = new Map<string, LeftOut>();
  for (const { runId, outcome, code, detail } of runs) {
    if (outcome !== 'skipped' && outcome !== 'refused') continue;
    const key = `${code ?? outcome} ${detail ?? ''}`;
    const known = reasons.get(key)?.runIds ?? [];
    reasons.set(key, { code: code ?? outcome, detail, runIds: [...known, runId] });
  }
  const count = (outcome: BulkRun['outcome']): number => runs.filter((one) => one.outcome === outcome).length;
  return { done: count('done'), requested: count('requested'), leftOut: [...reasons.values()] };
}
