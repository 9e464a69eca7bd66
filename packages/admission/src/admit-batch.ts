/**
 * The one insert path (law 3): many signals in one transaction.
 *
 *   deliveries ─► tasks locked ─► state read ─► decideBatch (pure fold) ─► rows written ─► COMMIT ─► answers
 *
 * Who may write: any number of intakes, schedulers and reconcilers at once. Lock order (SQL rule 8): delivery in
 * (source, event id) order, task in (tenant, key hash) order, the repositories whose open pull requests are counted in
 * the order of ids, then for superseded and cancelled runs item, lease, run, then the run that a latch waits for, and
 * then the promoted and replaced deferred_signals, the files that are asked for, and last what people touched and are
 * told, each in the order of its key. The deletion of a promoted signal is the proof that nobody else promoted it.
 *  - the same delivery in two batches: the second waits at the unique key and then reads the first one's receipt.
 *  - the same work in two batches: the second waits at the task and decides with the first one's result in view.
 *  - two promoters of one deferred signal: the second finds no row to delete and rolls back (AlreadyPromoted).
 *  - a debounced signal is replaced by a new row while it is promoted: both hold its task, one after the other. The
 *    promoter comes second: its row is gone and it rolls back. It comes first: the replacing signal finds none waiting.
 *  - a latch set while the run before it ends: a finish does not lock the task, so it may look for latches before
 *    this one is committed. The run is locked (shared) after the decision: it has ended, and the latch is due at once,
 *    or its end comes after this commit and finds the latch.
 * Crash before COMMIT: nothing was acknowledged and nothing stands; the sender or the next scan asks again. COMMIT
 * without an answer: read back by receipt id; the ids were drawn before the first try.
 */
import {
  type AdmissionWrite,
  type Decision,
  decideBatch,
  deliveryKey,
  type FirstDelivery,
  type ReceiptId,
  standsForDelivery,
  type TaskId,
  touchedSubjects,
} from '@headgate/domain';
import {
  approvals,
  type Connection,
  deliveries,
  feedback,
  type PayloadRow,
  payloads,
  publicationPlaces,
  queueItems,
  receipts,
  runs,
  type Stop,
  stopRuns,
  tasks,
  taskVersions,
  touches,
} from '@headgate/store';
import { type BatchContext, tenantIdOf } from './batch-context.js';
import { loadState, placesOf } from './load-state.js';
import { payloadRows } from './payload-rows.js';
import type { Prepared } from './prepare.js';
import { firstReceipts, parentOf, receiptRow } from './receipt-rows.js';
import { newApproval, newQueueItem, newRun } from './run-rows.js';
import { tellPublications } from './tell-publications.js';
import { type Written, writeWaiting } from './write-waiting.js';

/**
 * @param onDecided given where the transaction is this batch alone: told what is about to be written, since COMMIT may be sent
 * with it and must then be read back by it. Without it COMMIT is the caller's.
 */
export async function admitBatch(
  c: Connection,
  batch: readonly Prepared[],
  context: BatchContext,
  onDecided?: (decisions: readonly Decision[]) => void,
): Promise<readonly Decision[]> {
  const state = await loadState(c, batch, context);
  const decisions = decideBatch(
    state,
    batch.map((prepared) => prepared.candidate),
  );
  onDecided?.(decisions);
  const byReceipt = new Map(batch.map((prepared) => [prepared.candidate.receiptId, prepared]));
  const preparedOf = (decision: Decision): Prepared => {
    const found = byReceipt.get(decision.candidate.receiptId);
    if (found === undefined) throw new Error('a decision without its candidate');
    return found;
  };
  const written: Written = { batch, state, decisions, preparedOf };
  const stands = standIns(decisions);
  const standing = new Map(stands.map((one) => [keyOf(one), one.receiptId]));
  const carried = { stands, standing, payloads: await payloadRows(c, written, standing, context) };
  if (onDecided !== undefined && writesInOneGo(written, context)) {
    await c.last(() => writeDecisions(c, written, carried, context));
    return decisions;
  }
  await writeDecisions(c, written, carried, context);
  await stopOthers(c, decisions);
  await writeWaiting(c, written, context);
  await tellPeople(c, written, context);
  return decisions;
}

/** What needs no answer of anything written before it. All else is written in steps. */
const AT_ONCE: ReadonlySet<AdmissionWrite['kind']> = new Set(['admit', 'attach', 'latest', 'task']);

/** Whether a batch has no more to write than its decisions, as most have. */
const writesInOneGo = ({ batch, decisions }: Written, { active }: BatchContext): boolean =>
  decisions.every(({ writes }) => writes.every(({ kind }) => AT_ONCE.has(kind))) &&
  batch.every(({ submission, file }) => submission.promotes == null && file?.isRequested !== true) &&
  active.policy.routes.every((route) => route.repositoryFile === null);

type WriteOf<Kind extends AdmissionWrite['kind']> = Extract<AdmissionWrite, { kind: Kind }>;

/** What the deliveries of a batch leave beside their receipts. */
interface Carried {
  /** Receipts that stand for a delivery in the place of its first. */
  readonly stands: ReturnType<typeof standIns>;
  readonly standing: ReadonlyMap<string, ReceiptId>;
  readonly payloads: readonly PayloadRow[];
}

/** Hands all of its statements over before it waits for one. */
async function writeDecisions(
  c: Connection,
  written: Written,
  carried: Carried,
  context: BatchContext,
): Promise<void> {
  const { batch, state, decisions, preparedOf } = written;
  const { active } = context;
  const writes = decisions.flatMap((decision) =>
    decision.writes.map((write) => ({ write, prepared: preparedOf(decision) })),
  );
  const of = <Kind extends AdmissionWrite['kind']>(
    kind: Kind,
  ): { write: WriteOf<Kind>; prepared: Prepared }[] =>
    writes.filter((one): one is { write: WriteOf<Kind>; prepared: Prepared } => one.write.kind === kind);
  const rowContext = (prepared: Prepared) => ({
    tenantId: tenantIdOf(prepared, active),
    policyVersion: active.version,
    policy: active.policy,
    dimensions: context.dimensions,
  });

  const firsts = new Map([...firstReceipts(batch, state), ...carried.standing]);
  const admitted = of('admit');
  await Promise.all([
    runs.insert(
      c,
      admitted.map(({ write, prepared }) => newRun(write, prepared, rowContext(prepared))),
    ),
    approvals.request(
      c,
      admitted
        .filter(({ write }) => write.status === 'WAITING_APPROVAL')
        .map(({ write, prepared }) => newApproval(write, prepared, rowContext(prepared))),
    ),
    taskVersions.insert(
      c,
      admitted.map(({ write, prepared }) => ({
        taskId: write.taskId,
        tenantId: tenantIdOf(prepared, active),
        generation: write.generation,
        inputVersion: prepared.candidate.work?.inputVersion ?? '',
        runId: write.runId,
        sourceAt: prepared.candidate.signal.sourceAt,
        parentVersions: prepared.candidate.signal.parentVersions,
      })),
    ),
    queueItems.insert(
      c,
      admitted
        .filter(({ write }) => write.status === 'QUEUED')
        .map(({ write, prepared }) => newQueueItem(write, prepared, rowContext(prepared))),
    ),
    admitted.length === 0
      ? null
      : runs.tellBorn(
          c,
          admitted.map(({ write }) => write.runId),
        ),
    publicationPlaces.take(c, takenPlaces(admitted, batch, context)),
    receipts.insertDecisions(
      c,
      decisions.map((decision) => {
        const prepared = preparedOf(decision);
        return receiptRow(decision, prepared, active, parentOf(decision, prepared, firsts));
      }),
    ),
    deliveries.standIn(c, carried.stands),
    payloads.insert(c, carried.payloads),
    tasks.attach(
      c,
      of('attach').map(({ write, prepared }) => ({
        taskId: write.taskId,
        receiptId: write.receiptId,
        runId: write.runId,
        tenantId: tenantIdOf(prepared, active),
      })),
    ),
    tellPublications(c, decisions.map(preparedOf), active),
    tasks.setLatest(c, lastOfEach(of('latest').map(({ write }) => write))),
    tasks.setGeneration(c, lastOfEach(of('task').map(({ write }) => write))),
  ]);
}

/** Runs that give way to a newer version, and those that a person wants gone before a retry. */
async function stopOthers(c: Connection, decisions: readonly Decision[]): Promise<void> {
  const stops = decisions.flatMap(({ writes, candidate }) =>
    writes.flatMap((write): Stop[] => {
      switch (write.kind) {
        case 'supersede': {
          const data = { by: write.by };
          return [{ runId: write.runId, kind: 'supersede', reasonCode: 'SUPERSEDED', actor: 'intake', data }];
        }
        case 'cancel': {
          const actor = candidate.signal.actor?.name ?? 'intake';
          return [{ runId: write.runId, kind: 'cancel', reasonCode: write.reasonCode, actor }];
        }
        default:
          return [];
      }
    }),
  );
  const rank = { supersede: 0, cancel: 1 };
  await stopRuns(
    c,
    stops.sort((a, b) => rank[a.kind] - rank[b.kind]),
  );
}

/** What people touched, and what they are told. */
async function tellPeople(
  c: Connection,
  { decisions, preparedOf }: Written,
  context: BatchContext,
): Promise<void> {
  const writes = decisions.flatMap((decision) =>
    decision.writes.map((write) => ({ write, tenantId: tenantIdOf(preparedOf(decision), context.active) })),
  );
  await touches.put(
    c,
    writes.flatMap(({ write, tenantId }) =>
      write.kind === 'touch'
        ? touchedSubjects(write.candidate).map(({ subject }) => ({ tenantId, subject }))
        : [],
    ),
  );
  await feedback.insert(
    c,
    writes.flatMap(({ write, tenantId }) => {
      if (write.kind !== 'feedback') return [];
      const { at, candidate, reasonCode, message } = write;
      return [{ receiptId: candidate.receiptId, tenantId, ...at, reasonCode, message }];
    }),
  );
}

/** Places among the open pull requests of the repositories that have a limit. */
function takenPlaces(
  admitted: readonly { readonly write: WriteOf<'admit'>; readonly prepared: Prepared }[],
  batch: readonly Prepared[],
  context: BatchContext,
) {
  const places = placesOf(batch, context);
  const taken = admitted.flatMap(({ write, prepared }) => {
    const repositoryId = places.get(prepared.candidate.repository ?? '');
    if (repositoryId === undefined) return [];
    return [{ taskId: write.taskId, tenantId: tenantIdOf(prepared, context.active), repositoryId }];
  });
  return lastOfEach(taken);
}

/** Deliveries whose repeats are answered with another receipt than that of their first route. */
function standIns(decisions: readonly Decision[]) {
  const standing = new Map<string, FirstDelivery>();
  const changed = new Map<string, Decision>();
  for (const decision of decisions) {
    const { candidate, runId, taskId, reasonCode } = decision;
    if (candidate.parentReceiptId !== null || reasonCode === 'DUPLICATE_DELIVERY') continue;
    const key = deliveryKey(candidate.signal);
    if (!standsForDelivery(standing.get(key), decision)) continue;
    standing.set(key, { receiptId: candidate.receiptId, runId, taskId });
    if (candidate.isFurtherRoute) changed.set(key, decision);
  }
  return [...changed.values()].map(({ candidate: { signal, receiptId } }) => ({
    sourceId: signal.source,
    eventId: signal.eventId,
    receiptId,
  }));
}

const keyOf = ({ sourceId, eventId }: { readonly sourceId: string; readonly eventId: string }): string =>
  deliveryKey({ source: sourceId, eventId });

const lastOfEach = <T extends { taskId: TaskId }>(rows: readonly T[]): T[] => [
  ...new Map(rows.map((row) => [row.taskId, row])).values(),
];
