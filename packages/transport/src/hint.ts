/**
 * A hint says "this run was dispatched, have a look": ids and trace context, nothing else. It authorises nothing;
 * the claim in Postgres decides. So it may be lost, doubled, shuffled, late or invented.
 */
import { formatId, parseId, type RunId } from '@headgate/domain';
import { z } from 'zod';

/** What the dispatcher publishes. */
export interface Hint {
  /** Queue id of the configuration. */
  readonly queue: string;
  readonly runId: RunId;
  /** Which dispatch of the run: an item taken back and dispatched again has the next number. */
  readonly dispatchNo: number;
  /** W3C traceparent of what admitted the run; the worker's spans link to it. */
  readonly traceparent: string | null;
}

/** What a worker receives. */
export interface ReceivedHint extends Hint {
  /** By the publisher's wall clock: for display and for dropping what is ancient, never for leases. */
  readonly publishedAt: Date;
}

/** The name of every hint job. */
export const HINT_JOB_NAME = 'hint';

/** Bytes of job data. A hint has about 120. */
export const MAX_HINT_BYTES = 1024;

/**
 * A hint older than this is dropped unseen. An item is taken back after 30 s, so that hours would do; a day keeps
 * a publisher with a wrong clock from having all its hints thrown away.
 */
export const MAX_HINT_AGE_MS = 24 * 60 * 60 * 1000;

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const MAX_DISPATCH_NO = 2_147_483_647;

/** The job's data as it lies in Redis, in clear text. Unknown fields pass (I20). */
export const hintDataSchema = z.object({
  runId: z.string().max(64),
  dispatchNo: z.int().min(1).max(MAX_DISPATCH_NO),
  // A broken trace context costs a link, not the hint.
  traceparent: z.string().regex(TRACEPARENT).nullable().catch(null).default(null),
});
export type HintData = z.infer<typeof hintDataSchema>;

export interface EncodedHint {
  readonly jobId: string;
  readonly data: HintData;
}

/** `{run_…}-{dispatchNo}`: publishing one dispatch twice while it waits stores it once. */
export function hintJobIdOf(runId: RunId, dispatchNo: number): string {
  return `${formatId('run', runId)}-${dispatchNo}`;
}

/** The job of a hint; null when it is no hint at all. One bad id would reject a whole bulk insert. */
export function encodeHint(hint: Hint): EncodedHint | null {
  if (!UUID.test(hint.runId)) return null;
  const data = hintDataSchema.safeParse({
    runId: formatId('run', hint.runId),
    dispatchNo: hint.dispatchNo,
    traceparent: hint.traceparent,
  });
  return data.success ? { jobId: hintJobIdOf(hint.runId, hint.dispatchNo), data: data.data } : null;
}

/** A job as BullMQ hands it over. Anyone who reaches Redis can have put it there. */
export interface HintJob {
  readonly id: string | undefined;
  readonly name: string;
  readonly data: unknown;
  readonly publishedAtMs: number;
}

export type DecodedHint =
  | { readonly kind: 'hint'; readonly hint: ReceivedHint }
  | { readonly kind: 'dropped'; readonly reason: 'malformed' | 'ancient' };

/** Reads a job of `queue` at wall-clock time `nowMs`. Never throws. */
export function decodeHint(queue: string, job: HintJob, nowMs: number): DecodedHint {
  const malformed = { kind: 'dropped', reason: 'malformed' } as const;
  if (job.name !== HINT_JOB_NAME) return malformed;
  const data = hintDataSchema.safeParse(job.data);
  if (!data.success) return malformed;
  const runId = parseId('run', data.data.runId);
  if (runId === null) return malformed;
  if (job.id !== hintJobIdOf(runId, data.data.dispatchNo)) return malformed;
  if (!Number.isFinite(job.publishedAtMs)) return malformed;
  if (nowMs - job.publishedAtMs > MAX_HINT_AGE_MS) return { kind: 'dropped', reason: 'ancient' };
  return {
    kind: 'hint',
    hint: {
      queue,
      runId,
      dispatchNo: data.data.dispatchNo,
      traceparent: data.data.traceparent,
      publishedAt: new Date(job.publishedAtMs),
    },
  };
}
