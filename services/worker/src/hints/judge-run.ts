/**
 * Judges one dispatched run: policy and abilities, then the authoritative read of its source, outside any transaction
 * and bounded in time (I6, Q2). Reads only; what follows is written by the claim desk under the dispatch number.
 */
import type { Capabilities, Clock, WorkerId } from '@headgate/domain';
import type { HeadReading, SourceReader } from '@headgate/sources';
import {
  type ActivePolicy,
  type DispatchedRun,
  dispatchedRuns,
  type Pool,
  type PreLeaseVerdict,
  workers,
} from '@headgate/store';
import type { WorkerTiming } from '../options.js';
import { canOthersRun, type FirstLook, firstLook, verdictOf } from './verdict.js';

export interface JudgeParts {
  readonly pool: Pool;
  readonly reader: SourceReader;
  readonly clock: Clock;
  readonly timing: WorkerTiming;
}

export interface Judged {
  readonly run: DispatchedRun;
  /** Null: left as it is, for a worker that can run it. */
  readonly verdict: PreLeaseVerdict | null;
  /** Where the source stood; null when it was not asked. */
  readonly headSha: string | null;
}

/** More waits than this add nothing to the back-off. */
const MOST_WAITS = 10;

export async function judgeRun(
  parts: JudgeParts,
  run: DispatchedRun,
  active: ActivePolicy,
  self: { readonly workerId: WorkerId; readonly capabilities: Capabilities },
): Promise<Judged> {
  const look = firstLook(run, active.policy, self.capabilities);
  switch (look.kind) {
    case 'verdict':
      return { run, verdict: look.verdict, headSha: null };
    case 'incapable':
      return { run, verdict: await incapable(parts, run, look, self.workerId), headSha: null };
    case 'read': {
      const head = await readHead(parts, look);
      const times =
        head.kind === 'unavailable'
          ? await parts.pool.use((c) =>
              dispatchedRuns.deferrals(c, run.runId, 'SOURCE_UNAVAILABLE', MOST_WAITS),
            )
          : 0;
      const { sourceWaitMs: firstMs, sourceWaitCapMs: capMs } = parts.timing;
      const verdict = verdictOf(run, head, { firstMs, capMs, times });
      return { run, verdict, headSha: head.kind === 'head' ? head.sha : null };
    }
  }
}

/** Left to others if there are any; else it says on the run what no worker offers, and looks again later. */
async function incapable(
  { pool, timing }: JudgeParts,
  run: DispatchedRun,
  { reasonCode, detail }: Extract<FirstLook, { kind: 'incapable' }>,
  self: WorkerId,
): Promise<PreLeaseVerdict | null> {
  const live = await pool.use((c) => workers.live(c));
  if (canOthersRun(run, live, self)) return null;
  return { kind: 'defer', reasonCode, delayMs: timing.incapableWaitMs, detail };
}

/** A reader is bounded by itself and never throws; this holds for one that does not keep to it. */
async function readHead(
  { reader, timing }: JudgeParts,
  { source, repository, target }: Extract<FirstLook, { kind: 'read' }>,
): Promise<HeadReading> {
  const bound = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<HeadReading>((resolve) => {
    timer = setTimeout(() => {
      bound.abort();
      resolve({
        kind: 'unavailable',
        detail: `the source did not answer within ${timing.readTimeoutMs} ms`,
      });
    }, timing.readTimeoutMs);
  });
  const read = reader
    .readHead({ source, repository, target, signal: bound.signal })
    .catch((fault: unknown): HeadReading => ({ kind: 'unavailable', detail: String(fault) }));
  try {
    return await Promise.race([read, late]);
  } finally {
    clearTimeout(timer);
  }
}
