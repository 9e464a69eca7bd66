/**
 * What the re-read before the lease found (I6), where it was not fresh: stale, gone, or not to be read now. What is
 * fresh is claimed, and the claim carries that verdict itself.
 *
 * Who may write: the worker that holds (run id, dispatch number); a stale number writes nothing. Lock order: item,
 * run, and last what a person is told who asked for it. A run that ends here never had a lease and costs no model call.
 */
import { type ReasonCode, type RunId, sentence } from '@headgate/domain';
import type { Pool } from '../connection/database.js';
import { feedback } from '../tables/feedback.js';
import { queueItems } from '../tables/queue-items.js';
import { runs } from '../tables/runs.js';
import { closeRuns, walk } from './end-runs.js';

export type RefusingVerdict =
  | {
      readonly kind: 'end';
      readonly to: 'NO_WORK' | 'SUPERSEDED' | 'POLICY_DENIED';
      readonly reasonCode: ReasonCode;
      readonly detail: string | null;
    }
  | {
      readonly kind: 'defer';
      readonly reasonCode: ReasonCode;
      readonly delayMs: number;
      readonly detail: string | null;
    };

export type PreLeaseVerdict = { readonly kind: 'fresh' } | RefusingVerdict;

export interface VerdictRow {
  readonly runId: RunId;
  readonly dispatchNo: number;
  readonly verdict: RefusingVerdict;
}

/** Returns the runs whose verdict took effect; the others are no longer ours to judge. */
export function writeVerdicts(
  pool: Pool,
  rows: readonly VerdictRow[],
  actor: string,
): Promise<ReadonlySet<RunId>> {
  return pool.transaction(async (c) => {
    const items = new Map(
      (
        await queueItems.lock(
          c,
          rows.map((row) => row.runId),
        )
      ).map((item) => [item.runId, item]),
    );
    const mine = rows.filter((row) => {
      const item = items.get(row.runId);
      return item?.state === 'dispatched' && item.dispatchNo === row.dispatchNo;
    });
    const standing = new Map(
      (
        await runs.lock(
          c,
          mine.map((row) => row.runId),
        )
      ).map((run) => [run.runId, run]),
    );
    const ending = mine.filter(
      (row) => row.verdict.kind === 'end' && standing.get(row.runId)?.status === 'QUEUED',
    );
    const deferred = mine.filter(
      (row) => row.verdict.kind === 'defer' && standing.get(row.runId)?.status === 'QUEUED',
    );
    await queueItems.remove(
      c,
      ending.map((row) => row.runId),
    );
    await queueItems.delay(
      c,
      deferred.flatMap((row) =>
        row.verdict.kind === 'defer'
          ? [
              {
                runId: row.runId,
                dispatchNo: row.dispatchNo,
                delayMs: row.verdict.delayMs,
                reasonCode: row.verdict.reasonCode,
              },
            ]
          : [],
      ),
    );
    const moved = await walk(
      c,
      [...ending, ...deferred].flatMap((row) => {
        const verdict = row.verdict;
        const to = verdict.kind === 'defer' ? 'WAITING_CAPACITY' : verdict.to;
        return [
          {
            runId: row.runId,
            from: 'QUEUED' as const,
            actor,
            steps: [{ to, reasonCode: verdict.reasonCode, detail: verdict.detail } as const],
          },
        ];
      }),
    );
    await closeRuns(
      c,
      ending.map((row) => row.runId).filter((runId) => moved.has(runId)),
    );
    await feedback.ofRuns(
      c,
      ending.flatMap(({ runId, verdict }) =>
        verdict.kind === 'end' && moved.has(runId)
          ? [
              {
                runId,
                reasonCode: verdict.reasonCode,
                message: sentence(verdict.reasonCode, { detail: verdict.detail }),
              },
            ]
          : [],
      ),
    );
    return moved;
  });
}
