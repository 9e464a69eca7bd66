/**
 * What every end of a run has in common, whoever brought it about: the last steps, the tombstone, the closing
 * receipt, the dead letter, and the release of the queueOne latch.
 *
 * Runs inside its caller's transaction, which holds the run's item or lease row and the run's row. Lock order from
 * here: run (held), then deferred_signal. Nothing of it is left half-done by a crash: it is all in that transaction.
 */
import type { ReasonCode, RunId, RunStatus } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';
import type { Fence } from '../fence.js';
import { receipts } from '../tables/receipts.js';
import { type Move, runs } from '../tables/runs.js';
import { taskVersions } from '../tables/tasks.js';

/** A run and the steps it takes, one after the other. */
export interface Walk {
  readonly runId: RunId;
  readonly from: RunStatus;
  readonly steps: readonly {
    readonly to: RunStatus;
    readonly reasonCode: ReasonCode | null;
    readonly detail?: string | null;
    readonly data?: unknown;
  }[];
  readonly actor: string;
  readonly fence?: Omit<Fence, 'runId'>;
}

/**
 * Walks each run along its steps: one statement per round of steps, all sent at once. The caller holds the rows locked and
 * has read `from` under the lock; a run that does not stand where a step begins is passed over by it, and by all that
 * follow, for no step begins where an earlier one does. Returns those that took all of theirs.
 */
export async function walk(c: Connection, walks: readonly Walk[]): Promise<ReadonlySet<RunId>> {
  const rounds = Math.max(0, ...walks.map((w) => w.steps.length));
  const moved = await Promise.all(
    Array.from({ length: rounds }, (_, round) =>
      runs.move(
        c,
        walks.flatMap((w) => moveOf(w, round)),
      ),
    ),
  );
  const isThere = ({ runId, steps }: Walk): boolean => steps.every((_, round) => moved[round]?.has(runId));
  return new Set(walks.filter(isThere).map((w) => w.runId));
}

function moveOf({ runId, from, steps, actor, fence }: Walk, round: number): Move[] {
  const step = steps[round];
  const before = round === 0 ? from : steps[round - 1]?.to;
  if (step === undefined || before === undefined) return [];
  const { to, reasonCode, detail = null, data } = step;
  const named = fence === undefined ? {} : { fence };
  return [{ runId, from: before, to, reasonCode, detail, actor, data, ...named }];
}

// The version that waits behind the run becomes due: it is then admitted through the one insert path.
const releaseLatch = statement(
  'deferred_signal.release_latch',
  `with latched as materialized (
     select d.id, r.id as run_id
       from headgate.run r join headgate.task t on t.id = r.task_id
       join headgate.deferred_signal d on d.task_id = t.id and d.receipt_id = t.next_receipt_id
      where r.id = any ($1::uuid[]) and d.due_at > clock_timestamp()
      order by d.id for update of d
   )
   update headgate.deferred_signal d set due_at = clock_timestamp() from latched where d.id = latched.id
   returning latched.run_id as "runId"`,
);
const buryDead = statement(
  'dead_letter.bury',
  `insert into headgate.dead_letter (id, tenant_id, run_id, reason_code, evidence)
   select headgate.uuid7(), r.tenant_id, r.id, coalesce(r.reason_code, 'AGENT_FAILED'),
          jsonb_build_object('attempts', (
            select jsonb_agg(jsonb_build_object('number', a.number, 'status', a.status, 'reasonCode', a.reason_code,
                                                'detail', a.detail, 'finishedAt', a.finished_at) order by a.number)
              from headgate.attempt a where a.run_id = r.id))
     from headgate.run r where r.id = any ($1::uuid[]) and r.status = 'FAILED'
   on conflict (run_id) do nothing`,
);

/**
 * To be called with the ids that have reached a terminal status in this transaction. Returns those behind which a version
 * waited: it is due now.
 */
export async function closeRuns(
  c: Connection,
  ended: readonly RunId[],
  deadLetters: readonly RunId[] = [],
): Promise<ReadonlySet<RunId>> {
  if (ended.length === 0) return new Set();
  const [, , , latched] = await Promise.all([
    taskVersions.close(c, ended),
    receipts.insertClosing(c, ended),
    deadLetters.length === 0 ? null : c.count(buryDead, [deadLetters]),
    c.run<{ runId: RunId }>(releaseLatch, [ended]),
  ]);
  return new Set(latched.map((row) => row.runId));
}
