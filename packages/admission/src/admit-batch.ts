/**
 * The one insert path (law 3): many signals in one transaction.
 *
 *   deliveries ─► tasks locked ─► state read ─► decideBatch (pure fold) ─► rows written ─► COMMIT ─► answers
 *
 * Who may write: any number of intakes, schedulers and reconcilers at once. Lock order (SQL rule 8): delivery in
 * (source, event id) order, task in (tenant, key hash) order, then for superseded and cancelled runs item, lease, run,
 * and last the promoted deferred_signal, whose deletion is the proof that nobody else promoted it.
 *  - the same delivery in two batches: the second waits at the unique key and then reads the first one's receipt.
 *  - the same work in two batches: the second waits at the task and decides with the first one's result in view.
 *  - two promoters of one deferred signal: the second finds no row to delete and rolls back (AlreadyPromoted).
 * Crash before COMMIT: nothing was acknowledged and nothing stands; the sender or the next scan asks again. COMMIT
 * without an answer: read back by receipt id; the ids were drawn before the first try.
 */
import {
  type AdmissionState,
  type AdmissionWrite,
  type Decision,
  type DeferredId,
  decideBatch,
  deliveryKey,
  hashWorkKey,
  type KnownVersion,
  type Latch,
  type LiveRun,
  type TaskId,
  type TaskState,
  taskKey,
} from '@headgate/domain';
import {
  type ActivePolicy,
  type Connection,
  type DecisionReceipt,
  type DeferredRow,
  type Dimensions,
  deferredSignals,
  deliveries,
  type PayloadRow,
  payloads,
  queueItems,
  receipts,
  runs,
  type Stop,
  stopRuns,
  type TaskRow,
  tasks,
  taskVersions,
} from '@headgate/store';
import type { Prepared } from './prepare.js';
import { newQueueItem, newRun } from './run-rows.js';
import type { DeferredSubmission } from './submission.js';

export interface BatchContext {
  readonly active: ActivePolicy;
  readonly dimensions: Dimensions;
  /** Payloads, already encoded, by position. */
  readonly payloads: readonly (Pick<PayloadRow, 'encoding' | 'data' | 'mediaType'> | null)[];
  readonly newDeferredId: () => DeferredId;
  /** Queue ids of the policy, for counting what waits. */
  readonly queueIds: readonly number[];
}

/** Another promoter was faster with these; the rest of the batch may be tried again without them. */
export class AlreadyPromotedError extends Error {
  constructor(readonly deferredIds: readonly DeferredId[]) {
    super('deferred signals were promoted by another process');
    this.name = 'AlreadyPromotedError';
  }
}

export async function admitBatch(
  c: Connection,
  batch: readonly Prepared[],
  context: BatchContext,
): Promise<readonly Decision[]> {
  const state = await loadState(c, batch, context);
  const decisions = decideBatch(
    state,
    batch.map((prepared) => prepared.candidate),
  );
  await writeDecisions(c, batch, decisions, context);
  return decisions;
}

const tenantIdOf = (prepared: Prepared, active: ActivePolicy): number => {
  const id = active.tenantIds.get(prepared.candidate.tenant.id);
  if (id === undefined)
    throw new Error(`tenant ${prepared.candidate.tenant.id} has no row: was the policy activated?`);
  return id;
};

async function loadState(
  c: Connection,
  batch: readonly Prepared[],
  context: BatchContext,
): Promise<AdmissionState> {
  const seen = await rememberDeliveries(c, batch, context.active);
  const wanted = batch.filter(
    (p) => p.candidate.route !== null && p.candidate.work !== null && p.candidate.work.workKey !== '',
  );
  const byKey = new Map(
    wanted.map((p) => [taskKey(p.candidate.tenant.id, p.candidate.work?.workKey ?? ''), p]),
  );
  const rows = await tasks.lock(
    c,
    [...byKey.values()].map((p) => ({
      taskId: p.candidate.taskId,
      tenantId: tenantIdOf(p, context.active),
      keyHash: hashWorkKey(p.candidate.work?.workKey ?? ''),
      workKey: p.candidate.work?.workKey ?? '',
    })),
  );
  const tenantKeys = new Map([...context.active.tenantIds].map(([key, id]) => [id, key]));
  const rowOf = new Map(rows.map((row) => [taskKey(tenantKeys.get(row.tenantId) ?? '', row.workKey), row]));
  const pairs = wanted.flatMap((p) => {
    const row = rowOf.get(taskKey(p.candidate.tenant.id, p.candidate.work?.workKey ?? ''));
    return row === undefined ? [] : [{ taskId: row.id, inputVersion: p.candidate.work?.inputVersion ?? '' }];
  });
  const bounded = [
    ...new Map(batch.map((p) => [p.candidate.tenant.id, p.candidate.tenant])).values(),
  ].flatMap((tenant) => {
    const tenantId = context.active.tenantIds.get(tenant.id);
    return tenant.maxQueued === null || tenantId === undefined ? [] : [{ tenantId, most: tenant.maxQueued }];
  });
  const [live, known, queued, clock] = await Promise.all([
    taskVersions.live(
      c,
      rows.map((row) => row.id),
    ),
    taskVersions.known(c, pairs),
    queueItems.countReadyOf(c, bounded, context.queueIds),
    c.query<{ now: Date }>('select clock_timestamp() as now'),
  ]);
  return {
    deliveries: seen,
    tasks: new Map([...rowOf].map(([key, row]) => [key, taskState(row, live, known)])),
    queuedByTenant: new Map([...queued].map(([id, waiting]) => [tenantKeys.get(id) ?? '', waiting])),
    now: clock[0]?.now ?? new Date(0),
  };
}

/** Folds the batch by delivery first: one statement must not hold a key twice (SQL rule 3). */
async function rememberDeliveries(
  c: Connection,
  batch: readonly Prepared[],
  active: ActivePolicy,
): Promise<AdmissionState['deliveries']> {
  const firsts = new Map<string, Prepared>();
  for (const prepared of batch) {
    if (prepared.candidate.parentReceiptId !== null) continue;
    const key = deliveryKey(prepared.candidate.signal);
    if (!firsts.has(key)) firsts.set(key, prepared);
  }
  const fresh = await deliveries.remember(
    c,
    [...firsts.values()].map((p) => ({
      sourceId: p.candidate.signal.source,
      eventId: p.candidate.signal.eventId,
      tenantId: tenantIdOf(p, active),
      receiptId: p.candidate.receiptId,
      dedupeWindowMs: p.candidate.route?.dedupeWindowMs ?? DEFAULT_DEDUPE_MS,
    })),
  );
  const repeated = [...firsts].filter(([key]) => !fresh.has(key)).map(([, p]) => p.candidate.signal);
  return deliveries.first(
    c,
    repeated.map((signal) => ({ sourceId: signal.source, eventId: signal.eventId })),
  );
}

/** Longer than GitHub's redelivery window of three days. */
const DEFAULT_DEDUPE_MS = 7 * 24 * 3_600_000;

function taskState(
  row: TaskRow,
  live: readonly (LiveRun & { taskId: TaskId })[],
  known: readonly (KnownVersion & { taskId: TaskId; inputVersion: string })[],
): TaskState {
  const mine = live.filter((run) => run.taskId === row.id);
  const versions = new Map<string, KnownVersion>(
    known.filter((version) => version.taskId === row.id).map((version) => [version.inputVersion, version]),
  );
  for (const run of mine) {
    const standing = versions.get(run.inputVersion);
    if (standing === undefined || standing.generation <= run.generation) {
      versions.set(run.inputVersion, { runId: run.runId, generation: run.generation, outcome: null });
    }
  }
  const latch: Latch | null =
    row.nextReceiptId === null || row.nextVersion === null
      ? null
      : {
          receiptId: row.nextReceiptId,
          inputVersion: row.nextVersion,
          sourceAt: row.nextSourceAt,
          parentVersions: row.nextParents,
        };
  return {
    taskId: row.id,
    generation: row.generation,
    publication: row.publication,
    cancelled: row.cancelledAt !== null,
    latest:
      row.latestVersion === null
        ? null
        : {
            inputVersion: row.latestVersion,
            sourceAt: row.latestSourceAt,
            parentVersions: row.latestParents,
          },
    latch,
    live: mine,
    versions,
  };
}

type WriteOf<Kind extends AdmissionWrite['kind']> = Extract<AdmissionWrite, { kind: Kind }>;

async function writeDecisions(
  c: Connection,
  batch: readonly Prepared[],
  decisions: readonly Decision[],
  context: BatchContext,
): Promise<void> {
  const { active } = context;
  const byReceipt = new Map(batch.map((prepared, at) => [prepared.candidate.receiptId, { prepared, at }]));
  const preparedOf = (decision: Decision): Prepared => {
    const found = byReceipt.get(decision.candidate.receiptId);
    if (found === undefined) throw new Error('a decision without its candidate');
    return found.prepared;
  };
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

  const admitted = of('admit');
  await Promise.all([
    runs.insert(
      c,
      admitted.map(({ write, prepared }) => newRun(write, prepared, rowContext(prepared))),
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
    receipts.insertDecisions(
      c,
      decisions.map((decision) => receiptRow(decision, preparedOf(decision), active)),
    ),
    payloads.insert(
      c,
      batch.flatMap((prepared, at) => {
        const payload = context.payloads[at] ?? null;
        return payload === null
          ? []
          : [{ ...payload, receiptId: prepared.candidate.receiptId, tenantId: tenantIdOf(prepared, active) }];
      }),
    ),
    tasks.attach(
      c,
      of('attach').map(({ write, prepared }) => ({
        taskId: write.taskId,
        receiptId: write.receiptId,
        runId: write.runId,
        tenantId: tenantIdOf(prepared, active),
      })),
    ),
    tasks.setLatest(c, lastOfEach(of('latest').map(({ write }) => write))),
    tasks.setGeneration(c, lastOfEach(of('task').map(({ write }) => write))),
  ]);
  await stopRuns(c, [
    ...of('supersede').map(
      ({ write }): Stop => ({
        runId: write.runId,
        kind: 'supersede',
        reasonCode: 'SUPERSEDED',
        actor: 'intake',
        data: { by: write.by },
      }),
    ),
    ...of('cancel').map(
      ({ write, prepared }): Stop => ({
        runId: write.runId,
        kind: 'cancel',
        reasonCode: write.reasonCode,
        actor: prepared.candidate.signal.actor?.name ?? 'intake',
      }),
    ),
  ]);
  await takePromoted(c, batch);
  await writeLatches(c, of('latch'), context);
  await deferredSignals.insert(
    c,
    of('defer').map(({ write, prepared }) =>
      deferredRow(write.reasonCode, write.dueAt, prepared, null, context),
    ),
  );
}

async function takePromoted(c: Connection, batch: readonly Prepared[]): Promise<void> {
  const promoted = batch.flatMap((prepared) => prepared.submission.promotes?.deferredId ?? []);
  if (promoted.length === 0) return;
  const taken = await deferredSignals.take(c, promoted);
  const lost = promoted.filter((id) => !taken.has(id));
  if (lost.length > 0) throw new AlreadyPromotedError(lost);
}

/** The last word of the batch on each latch; what waited before gives way. */
async function writeLatches(
  c: Connection,
  latches: readonly { write: WriteOf<'latch'>; prepared: Prepared }[],
  context: BatchContext,
): Promise<void> {
  if (latches.length === 0) return;
  const last = new Map(latches.map((one) => [one.write.taskId, one]));
  const finals = [...last.values()];
  await tasks.setLatch(
    c,
    finals.map(({ write }) => ({ taskId: write.taskId, latch: write.latch })),
  );
  await deferredSignals.dropLatches(c, [...last.keys()]);
  await deferredSignals.insert(
    c,
    finals
      .filter(({ write }) => write.latch !== null)
      .map(({ write, prepared }) => deferredRow('QUEUED_NEXT', null, prepared, write.taskId, context)),
  );
}

function deferredRow(
  reasonCode: DeferredRow['reasonCode'],
  dueAt: Date | null,
  prepared: Prepared,
  taskId: TaskId | null,
  context: BatchContext,
): DeferredRow {
  const { signal, work, directive, tenant, receiptId } = prepared.candidate;
  const candidate: DeferredSubmission = {
    signal,
    work: prepared.submission.work ?? null,
    directive,
    again: prepared.submission.again ?? null,
    tenant: tenant.id,
  };
  return {
    id: context.newDeferredId(),
    tenantId: tenantIdOf(prepared, context.active),
    receiptId,
    taskId,
    reasonCode,
    dueAt,
    candidate: work === null ? candidate : { ...candidate, workKey: work.workKey },
  };
}

const lastOfEach = <T extends { taskId: TaskId }>(rows: readonly T[]): T[] => [
  ...new Map(rows.map((row) => [row.taskId, row])).values(),
];

function receiptRow(decision: Decision, prepared: Prepared, active: ActivePolicy): DecisionReceipt {
  const { candidate } = decision;
  const { signal, work } = candidate;
  return {
    id: candidate.receiptId,
    tenantId: tenantIdOf(prepared, active),
    outcome: decision.outcome,
    reasonCode: decision.reasonCode,
    message: decision.message,
    rule: decision.rule,
    trigger: signal.trigger,
    via: signal.via,
    route: candidate.route?.id ?? null,
    existing: decision.existing,
    retryAfter: decision.retryAfter,
    watermark: prepared.submission.watermark ?? null,
    parentReceiptId: candidate.parentReceiptId,
    traceparent: signal.traceparent,
    source: signal.source,
    eventId: signal.eventId,
    type: signal.type,
    hookId: signal.hookId,
    emittedAt: signal.emittedAt,
    receivedAt: signal.receivedAt,
    actor: signal.actor === null ? null : `${signal.actor.kind}:${signal.actor.name}`,
    repository: signal.repository?.fullName ?? null,
    workKey: work?.workKey ?? null,
    targetId: signal.target?.id ?? null,
    inputVersion: work?.inputVersion ?? signal.inputVersion,
    generation: decision.generation,
    policyVersion: active.version,
    taskId: decision.taskId,
    runId: decision.runId,
    concurrencyKey: prepared.concurrency?.key ?? null,
  };
}
