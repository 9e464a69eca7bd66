/**
 * One attempt, from its claim to its end.
 *
 *   CLAIMED ─► PREPARING_SANDBOX ─► RUNNING ─► VERIFYING ─► JUDGING ─► [seal] ─► FINALIZING ─► finish
 *      └──────────────── a sealed result is there ───────────────────────────────┘
 * An observation of a goal goes from RUNNING to its finish (observe.ts).
 *
 * Who writes: this attempt alone, each time under its fence: stages, the seal, the ledger, the finish. Before and
 * after each step it asks whether it may go on; a lease that is gone drops everything (nothing is taken back, nothing
 * more is written), a cancel ends it once the agent is known to have stopped, a drain hands it back.
 * What a crash leaves at each point: before the seal, an attempt that is run again elsewhere; after it, a result that
 * is only finalised. Workspaces of the dead are swept, their sandboxes end with them.
 */
import { existsSync } from 'node:fs';
import { formatId, type WorkerId } from '@headgate/domain';
import { removeWorkspace } from '@headgate/runtimes';
import {
  annotate,
  failPoint,
  HEADGATE_ATTR,
  type Logger,
  metrics,
  redactJson,
  type Span,
  SpanKind,
  testSignal,
  withRemoteContext,
} from '@headgate/telemetry';
import { aboutRun } from '../about-run.js';
import type { ClaimedOrder } from '../hints/claim-desk.js';
import type { HeldLease } from '../keeper/held-lease.js';
import { runAgent } from './agent.js';
import { ArtifactShelf } from './artifact-shelf.js';
import { type Ending, failed } from './ending.js';
import { finalise, resume } from './finalise.js';
import type { Finished, Finisher } from './finisher.js';
import { foldersOf, type Job, type RunParts, stopOf, whileTrusted } from './job.js';
import { observe } from './observe.js';
import { prepare } from './prepare.js';
import { makeResult } from './result.js';
import { inStage, resultAttributes, runAttributes } from './tracing.js';

/** One attempt, between its claim and its end. */
export type AttemptBody = (job: Job) => Promise<Ending>;

export interface ExecuteParts extends RunParts {
  /** Null: the whole way. */
  readonly attempt: AttemptBody | null;
  readonly finisher: Finisher;
  readonly logger: Logger;
  readonly workerId: WorkerId;
}

/**
 * Never rejects. Settles when the database has answered for the attempt's end; null: it was dropped, or could not be ended.
 */
export function execute(
  parts: ExecuteParts,
  order: ClaimedOrder,
  lease: HeldLease,
): Promise<Finished | null> {
  const { run } = order;
  // The first attempt goes on in the trace of what admitted the run; those that come later have their own, and link.
  return withRemoteContext(
    run.traceparent,
    `RUN ${run.spec.route}`,
    {},
    (span) => {
      annotate(() => runAttributes(run, parts.workerId));
      return executeIn(parts, order, lease, span);
    },
    { link: run.attemptNo > 1, kind: SpanKind.SERVER },
  );
}

async function executeIn(
  parts: ExecuteParts,
  order: ClaimedOrder,
  lease: HeldLease,
  span: Span,
): Promise<Finished | null> {
  const job = jobOf(parts, order, lease);
  lease.logger = job.logger;
  try {
    job.logger.info({ sealed: job.run.sealed, route: job.run.spec.route }, 'attempt begins');
    await failPoint('worker.attempt.begun');
    const ending = await (parts.attempt ?? attempt)(job);
    const finished = ending.kind === 'dropped' ? null : await handIn(parts, job, ending);
    report(job, ending, finished, span);
    if (finished !== null) measure(finished);
    return finished;
  } catch (fault) {
    job.logger.error({ err: fault }, 'an attempt could not be ended; its lease is left to the reaper');
    return null;
  } finally {
    await leave(job);
  }
}

/** Asked first: many attempts make no workspace, and removing what is not there costs as much as a round trip. */
async function leave({ folders, logger }: Job): Promise<void> {
  if (!existsSync(folders.root)) return;
  await removeWorkspace(folders).catch((fault: unknown) =>
    logger.warn({ err: fault }, 'the workspace could not be removed; a sweep will'),
  );
}

async function attempt(job: Job): Promise<Ending> {
  try {
    const { observe: observation } = job.run.spec;
    if (observation != null) return await inStage(job, 'observe', () => observe(job, observation));
    const sealed = job.run.sealed ? await inStage(job, 'resume', () => resume(job)) : await work(job);
    if (sealed.kind === 'ended') return sealed.ending;
    return await inStage(job, 'finalize', () => finalise(job, sealed.value));
  } catch (fault) {
    const stop = await stopOf(job);
    if (stop !== null) return stop;
    job.logger.error({ err: fault }, 'an attempt met a fault of our own');
    return failed('INTERNAL_ERROR', fault instanceof Error ? fault.message : String(fault));
  }
}

async function work(job: Job): ReturnType<typeof makeResult> {
  const workspace = await inStage(job, 'prepare', () => prepare(job));
  if (workspace.kind === 'ended') return workspace;
  const agent = await inStage(job, 'agent', () => runAgent(job, workspace.value));
  if (agent.kind === 'ended') return agent;
  return inStage(job, 'judge', () => makeResult(job, workspace.value, agent.value));
}

function jobOf(parts: ExecuteParts, { run, headSha }: ClaimedOrder, lease: HeldLease): Job {
  return {
    run,
    headSha,
    lease,
    actor: `worker:${formatId('wkr', parts.workerId)}`,
    folders: foldersOf(parts.paths, run),
    artifacts: new ArtifactShelf(parts.paths, run),
    logger: aboutRun(parts.logger, run, { ...run, workerId: parts.workerId }),
    parts,
    startByMs: parts.clock.monotonicMs() + run.spec.limits.sandboxStartMs,
  };
}

/** Hands the attempt in: artifacts, then the stages that nobody has written and its end, in one transaction. */
async function handIn(
  parts: ExecuteParts,
  job: Job,
  ending: Extract<Ending, { kind: 'end' }>,
): Promise<Finished> {
  await whileTrusted(job, () => job.artifacts.store(parts.pool)).catch((fault: unknown) =>
    job.logger.warn({ err: fault }, 'artifacts stay without a row'),
  );
  const passed = await parts.stages.take(job.lease);
  if (job.lease.isGone) return { kind: 'lost' };
  const { run, lease, actor } = job;
  const request = {
    fence: lease.fence,
    attemptId: run.attemptId,
    // What agents and others have said ends in rows that people read.
    result: redactJson(ending.outcome),
    costUsd: 0,
    evidence: redactJson(ending.evidence),
    passed,
    actor,
  };
  const answer = await parts.finisher.submit(request, lease);
  if (answer.kind !== 'refused') return answer;
  // Its run stands where it cannot end so, or the database refused the row: it ends as a fault of ours, without the row.
  job.logger.error(
    { detail: answer.detail, outcome: ending.outcome.kind },
    'the end of an attempt was refused',
  );
  const result = {
    kind: 'failed',
    reasonCode: 'INTERNAL_ERROR',
    detail: answer.detail,
    retryAfterMs: null,
  } as const;
  return parts.finisher.submit({ ...request, result, evidence: null }, lease);
}

function report(job: Job, ending: Ending, finished: Finished | null, span: Span): void {
  const { run, logger, lease } = job;
  const why = lease.stop?.kind === 'gone' ? lease.stop.why : 'lost';
  if (ending.kind === 'dropped' || finished === null) {
    logger.warn({ why }, 'the lease is gone: the attempt was dropped, nothing of it is taken back');
    testSignal('worker.dropped', { runId: run.runId, why });
    return;
  }
  const { outcome } = ending;
  const reasonCode = 'reasonCode' in outcome ? outcome.reasonCode : null;
  if (reasonCode !== null) span.setAttribute(HEADGATE_ATTR.reasonCode, reasonCode);
  switch (finished.kind) {
    case 'finished':
      span.setAttributes(resultAttributes(finished.status, reasonCode));
      if (finished.status === 'QUEUED' && reasonCode !== null)
        metrics.retry.add(1, { reason_code: reasonCode });
      logger.info({ outcome: outcome.kind, reasonCode, status: finished.status }, 'attempt ended');
      return;
    case 'lost':
      logger.warn({ why, outcome: outcome.kind }, 'the lease was gone when the attempt was handed in');
      testSignal('worker.dropped', { runId: run.runId, why });
      return;
    default:
      logger.error({ outcome: outcome.kind, answer: finished }, 'it is not known how the attempt ended');
  }
}

/** By the database's clock, since two clocks cannot be subtracted. */
function measure(finished: Finished): void {
  if (finished.kind !== 'finished' || finished.status === 'QUEUED') return;
  const { status, ranMs, cancelMs } = finished;
  if (ranMs !== null) metrics.runDuration.record(ranMs / 1_000, { status });
  if (status === 'CANCELLED' && cancelMs !== null) metrics.cancellationLatency.record(cancelMs / 1_000);
}
