/** Rows as the service sees them, for assertions. */
import { type RunId, systemIds } from '@headgate/domain';
import { type Database, deferredSignals, receipts, tasks } from '@headgate/store';
import { aReceipt, type SeededRun } from '@headgate/testkit';

export const rows = <Row extends Record<string, unknown>>(
  db: Database,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> => db.service.use((c) => c.query<Row>(text, values));

export async function statusOf(db: Database, runId: RunId): Promise<string | undefined> {
  const [row] = await rows<{ status: string }>(db, 'select status from headgate.run where id = $1', [runId]);
  return row?.status;
}

/** The steps of a run as its events tell them. */
export async function stepsOf(db: Database, runId: RunId): Promise<readonly string[]> {
  const steps = await rows<{ step: string }>(
    db,
    `select coalesce(from_status || ' -> ', '') || to_status as step from headgate.run_event
      where run_id = $1 and to_status is not null and type <> 'run.admitted' order by id`,
    [runId],
  );
  return steps.map((row) => row.step);
}

/** A newer version that waits behind the run: the queueOne latch, with its deferred signal. */
export async function latchBehind(db: Database, run: SeededRun): Promise<void> {
  const receipt = aReceipt({
    tenantId: run.tenant.id,
    reasonCode: 'QUEUED_NEXT',
    taskId: run.taskId,
    inputVersion: 'next',
    workKey: run.workKey,
  });
  await db.service.transaction(async (c) => {
    await tasks.lockById(c, [run.taskId]);
    await receipts.insertDecisions(c, [receipt]);
    await tasks.setLatch(c, [
      {
        taskId: run.taskId,
        latch: { receiptId: receipt.id, inputVersion: 'next', sourceAt: null, parentVersions: [] },
      },
    ]);
    await deferredSignals.insert(c, [
      {
        id: systemIds.next('dfr'),
        tenantId: run.tenant.id,
        receiptId: receipt.id,
        taskId: run.taskId,
        repositoryFileId: null,
        reasonCode: 'QUEUED_NEXT',
        dueAt: null,
        candidate: { inputVersion: 'next' },
      },
    ]);
  });
}

/** Whether the version behind the run is due now. */
export async function isLatchReleased(db: Database, run: SeededRun): Promise<boolean> {
  const due = await db.service.use((c) => deferredSignals.due(c, 10));
  return due.some((row) => row.taskId === run.taskId);
}

export const receiptsOf = (db: Database, runId: RunId) =>
  rows<Record<string, unknown>>(db, "select * from headgate.receipt where run_id = $1 and kind = 'closing'", [
    runId,
  ]);
