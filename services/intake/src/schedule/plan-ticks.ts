/**
 * From due nominal times to what is submitted: the overlap rule, per target, under the schedule's lock. Pure.
 *
 * A tick that has to wait (`bufferOne`, `bufferAll`) is admitted as a run that waits for its task's exclusive key: it
 * is seen, can be cancelled, and starts when the one before it has ended.
 */
import type { Beside, Submission } from '@headgate/admission';
import {
  decideOverlap,
  type OverlapDecision,
  type OverlapPolicy,
  type ReasonCode,
  type RunId,
  type Verdict,
} from '@headgate/domain';
import type { TickRow } from '@headgate/store';
import type { TickBatch } from './settle-ticks.js';
import type { ScheduleTarget } from './targets.js';
import { tickSignal } from './tick-signal.js';

export interface PlannedTick {
  readonly nominalAt: Date;
  readonly target: ScheduleTarget;
  readonly submission: Submission;
  /** The bucket, and where it is already known the reason; else the receipt's. */
  readonly bucket: TickRow['bucket'];
  readonly reasonCode: ReasonCode | null;
  /** Stopped at once if this tick is admitted (`terminateOther`). */
  readonly terminate: readonly RunId[];
}

export interface TickPlanInput {
  readonly batch: Omit<TickBatch, 'first'>;
  readonly tenant: string;
  /** Runs of the schedule that have not ended, by the target's key, oldest first. */
  readonly live: ReadonlyMap<string, readonly RunId[]>;
}

export function planTicks(input: TickPlanInput): readonly PlannedTick[] {
  const { nominals, targets } = input.batch;
  const lanes = new Map(targets.map(({ key }) => [key, [...(input.live.get(key) ?? [])]]));
  return nominals.flatMap((nominalAt) =>
    targets.map((target) => planTick(input, nominalAt, target, lanes.get(target.key) ?? [])),
  );
}

/** Stands for the run that an earlier tick of the same turn is about to become. */
const ABOUT_TO_RUN = 'about-to-run' as RunId;

function planTick(
  { batch, tenant }: TickPlanInput,
  nominalAt: Date,
  target: ScheduleTarget,
  lane: RunId[],
): PlannedTick {
  const signal = tickSignal(batch, nominalAt, target);
  const plain = { nominalAt, target, terminate: [], reasonCode: null, bucket: 'fired' } as const;
  const watermark = target.head.kind === 'head' ? target.head.sha : nominalAt.toISOString();
  const submission: Submission = { signal, tenant, payload: null, watermark };
  if (target.head.kind === 'unavailable') {
    const verdict = refusal('SOURCE_UNAVAILABLE', target.head.detail, 'reject');
    return {
      ...plain,
      submission: { ...submission, verdict },
      bucket: 'missed',
      reasonCode: 'SOURCE_UNAVAILABLE',
    };
  }
  const overlap = decideOverlap(batch.overlap, liveOf(batch.overlap, lane));
  if (overlap.kind === 'skip') {
    const verdict = refusal(overlap.reasonCode, null, 'no-work');
    return {
      ...plain,
      submission: { ...submission, verdict },
      bucket: 'skipped',
      reasonCode: overlap.reasonCode,
    };
  }
  const terminate = overlap.kind === 'replace' && !overlap.gracefully ? [...overlap.stop] : [];
  if (overlap.kind === 'replace') lane.length = 0;
  lane.push(ABOUT_TO_RUN);
  return {
    ...plain,
    bucket: overlap.kind === 'buffer' ? 'buffered' : 'fired',
    submission: { ...submission, beside: besideOf(overlap, batch.overlap) },
    terminate: terminate.filter((runId) => runId !== ABOUT_TO_RUN),
  };
}

/** Under a buffering rule the oldest run goes first, and those behind it are the buffer. */
function liveOf(policy: OverlapPolicy, lane: readonly RunId[]) {
  const buffers = policy === 'bufferOne' || policy === 'bufferAll';
  return buffers
    ? { running: lane.slice(0, 1), buffered: Math.max(0, lane.length - 1) }
    : { running: lane, buffered: 0 };
}

/** The overlap rule has decided; the route's rule for new versions must not decide again. */
function besideOf(overlap: OverlapDecision, policy: OverlapPolicy): Beside {
  if (overlap.kind === 'replace') return { onNewVersion: 'cancelOther', exclusive: true };
  return { onNewVersion: 'allow', exclusive: policy !== 'allowAll' };
}

const refusal = (reasonCode: ReasonCode, detail: string | null, outcome: Verdict['outcome']): Verdict => ({
  outcome,
  reasonCode,
  detail,
  retryAfter: null,
  rule: reasonCode === 'SOURCE_UNAVAILABLE' ? 'schedule.source' : 'schedule.overlap',
});
