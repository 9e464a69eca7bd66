/**
 * Judges one dispatched run: policy and abilities, then the authoritative read of its source, outside any transaction
 * and bounded in time (I6, Q2). Reads only; what follows is written by the claim desk under the dispatch number.
 */
import type { Capabilities, Clock, ReasonCode, WorkerId } from '@headgate/domain';
import type { HeadReading, PermissionReading, SourceReader } from '@headgate/sources';
import {
  type ActivePolicy,
  type DispatchedRun,
  dispatchedRuns,
  type Pool,
  type PreLeaseVerdict,
  workers,
} from '@headgate/store';
import type { WorkerTiming } from '../options.js';
import {
  canOthersRun,
  type FirstLook,
  firstLook,
  type SourceWait,
  verdictOf,
  verdictOnAsker,
} from './verdict.js';

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
  /** When its judgement began, monotonic: so old is what was read. */
  readonly atMs: number;
}

/** More waits than this add nothing to the back-off. */
const MOST_WAITS = 10;

export async function judgeRun(
  parts: JudgeParts,
  run: DispatchedRun,
  active: ActivePolicy,
  self: { readonly workerId: WorkerId; readonly capabilities: Capabilities },
): Promise<Judged> {
  const atMs = parts.clock.monotonicMs();
  const look = firstLook(run, active.policy, self.capabilities);
  switch (look.kind) {
    case 'verdict':
      return { run, verdict: look.verdict, headSha: null, atMs };
    case 'incapable':
      return { run, verdict: await incapable(parts, run, look, self.workerId), headSha: null, atMs };
    case 'read':
      return { run, ...(await judgeAtSource(parts, run, look)), atMs };
  }
}

async function judgeAtSource(
  parts: JudgeParts,
  run: DispatchedRun,
  look: Look,
): Promise<Pick<Judged, 'verdict' | 'headSha'>> {
  const head = await readHead(parts, look, run.inputVersion);
  const headSha = head.kind === 'head' ? head.sha : null;
  const verdict = verdictOf(run, head, await waitOf(parts, run, waitReason(head)));
  // Whose work it would be is asked only if there is any, and not of a result that is there already.
  if (verdict.kind !== 'fresh' || run.sealed) return { verdict, headSha };
  const permission = await readPermission(parts, look, run.inputVersion, head);
  const denied = verdictOnAsker(
    permission,
    await waitOf(parts, run, permission.kind === 'unavailable' ? 'SOURCE_UNAVAILABLE' : null),
  );
  return { verdict: denied ?? verdict, headSha };
}

type Look = Extract<FirstLook, { kind: 'read' }>;

const waitReason = (head: HeadReading): ReasonCode | null =>
  head.kind === 'unavailable' ? 'SOURCE_UNAVAILABLE' : head.kind === 'disagrees' ? 'SOURCE_DISAGREES' : null;

async function waitOf(
  { pool, timing }: JudgeParts,
  run: DispatchedRun,
  reason: ReasonCode | null,
): Promise<SourceWait> {
  const { sourceWaitMs: firstMs, sourceWaitCapMs: capMs } = timing;
  const times =
    reason === null ? 0 : await pool.use((c) => dispatchedRuns.deferrals(c, run.runId, reason, MOST_WAITS));
  return { firstMs, capMs, times, most: MOST_WAITS };
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

const readHead = (
  { reader, timing }: JudgeParts,
  { source, repository, target, claim }: Look,
  inputVersion: string,
): Promise<HeadReading> =>
  bounded(timing.readTimeoutMs, (signal) =>
    reader.readHead({ source, repository, target, claim, inputVersion, signal }),
  );

/** Of the person who acted; for what a program found out of the pull request's author, else who made the commit. */
async function readPermission(
  { reader, timing }: JudgeParts,
  { source, repository, claim }: Look,
  inputVersion: string,
  head: HeadReading,
): Promise<PermissionReading> {
  const asker = claim?.asker ?? null;
  if (asker === null || reader.readPermission === undefined) return { kind: 'not-asked' };
  const author = head.kind === 'head' ? (head.author ?? null) : null;
  const login = asker.kind === 'actor' ? asker.login : author;
  const sha = head.kind === 'head' ? head.sha : null;
  return bounded(
    timing.readTimeoutMs,
    (signal) =>
      reader.readPermission?.({ source, repository, login, sha: sha ?? inputVersion, signal }) ??
      Promise.resolve({ kind: 'not-asked' }),
  );
}

type Unavailable = Extract<HeadReading, { kind: 'unavailable' }>;

/** A reader is bounded by itself and never throws; this holds for one that does not keep to it. */
async function bounded<T>(ms: number, read: (signal: AbortSignal) => Promise<T>): Promise<T | Unavailable> {
  const bound = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Unavailable>((resolve) => {
    timer = setTimeout(() => {
      bound.abort();
      resolve({ kind: 'unavailable', detail: `the source did not answer within ${ms} ms` });
    }, ms);
  });
  const reading = read(bound.signal).catch(
    (fault: unknown): Unavailable => ({ kind: 'unavailable', detail: String(fault) }),
  );
  try {
    return await Promise.race([reading, late]);
  } finally {
    clearTimeout(timer);
  }
}
