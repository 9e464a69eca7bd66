/**
 * The one insert path (law 3): many signals in one transaction.
 *
 *   deliveries ─► tasks locked ─► state read ─► decideBatch (pure fold) ─► rows written ─► COMMIT ─► answers
 *
 * Who may write: any number of intakes, schedulers and reconcilers at once. Lock order (SQL rule 8): delivery in
 * (source, event id) order, task in (tenant, key hash) order, then for superseded and cancelled runs item, lease, run,
 * then the run that a latch waits for, then the promoted deferred_signal, whose deletion is the proof that nobody
 * else promoted it, and last what people touched and are told, each in the order of its key.
 *  - the same delivery in two batches: the second waits at the unique key and then reads the first one's receipt.
 *  - the same work in two batches: the second waits at the task and decides with the first one's result in view.
 *  - two promoters of one deferred signal: the second finds no row to delete and rolls back (AlreadyPromoted).
 *  - a latch set while the run before it ends: a finish does not lock the task, so it may look for latches before
 *    this one is committed. The run is locked (shared) after the decision: it has ended, and the latch is due at once,
 *    or its end comes after this commit and finds the latch.
 * Crash before COMMIT: nothing was acknowledged and nothing stands; the sender or the next scan asks again. COMMIT
 * without an answer: read back by receipt id; the ids were drawn before the first try.
 */
import {
  type AdmissionState,
  type AdmissionWrite,
  askedEventId,
  type Candidate,
  checkWork,
  type Decision,
  type DeferredId,
  decideBatch,
  deliveryKey,
  hashWorkKey,
  type KnownVersion,
  type Latch,
  type LiveRun,
  type ReceiptId,
  type TaskId,
  type TaskState,
  taskKey,
  touchedSubjects,
} from '@headgate/domain';
import {
  type ActivePolicy,
  type Connection,
  type DecisionReceipt,
  type DeferredRow,
  type DeliveryRow,
  type Dimensions,
  deferredSignals,
  deliveries,
  feedback,
  type PayloadRow,
  payloads,
  queueItems,
  receipts,
  runs,
  type Stop,
  stopRuns,
  type TaskKey,
  type TaskRow,
  tasks,
  taskVersions,
  touches,
} from '@headgate/store';
import { loadGuard } from './guard-state.js';
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
  await writeDecisions(c, batch, state, decisions, context);
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
    ({ candidate: { route, work } }) => route !== null && work !== null && checkWork(work).ok,
  );
  const rows = await tasks.lock(c, tasksToLock(batch, wanted, context.active));
  const tenantKeys = new Map([...context.active.tenantIds].map(([key, id]) => [id, key]));
  const rowOf = new Map(rows.map((row) => [taskKey(tenantKeys.get(row.tenantId) ?? '', row.workKey), row]));
  const taskIds = new Map([...rowOf].map(([key, row]) => [key, row.id]));
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
  const [live, known, queued, clock, { guard, chains }] = await Promise.all([
    taskVersions.live(
      c,
      rows.map((row) => row.id),
    ),
    taskVersions.known(c, pairs),
    queueItems.countReadyOf(c, bounded, context.queueIds),
    c.query<{ now: Date }>('select clock_timestamp() as now'),
    loadGuard(c, batch, taskIds, context),
  ]);
  return {
    deliveries: seen,
    tasks: new Map(
      [...rowOf].map(([key, row]) => [
        key,
        { ...taskState(row, live, known), chain: chains.get(row.id) ?? null },
      ]),
    ),
    guard,
    queuedByTenant: new Map([...queued].map(([id, waiting]) => [tenantKeys.get(id) ?? '', waiting])),
    now: clock[0]?.now ?? new Date(0),
  };
}

/** The tasks that work is asked for, and those whose latch is promoted here, each once. */
function tasksToLock(
  batch: readonly Prepared[],
  wanted: readonly Prepared[],
  active: ActivePolicy,
): readonly TaskKey[] {
  const keys = new Map<string, TaskKey>();
  const add = (tenant: string, workKey: string, taskId: TaskId): void => {
    const tenantId = active.tenantIds.get(tenant);
    if (tenantId === undefined) return;
    keys.set(taskKey(tenant, workKey), { taskId, tenantId, keyHash: hashWorkKey(workKey), workKey });
  };
  for (const { submission } of batch) {
    const latch = submission.promotes?.latch ?? null;
    if (latch !== null) add(latch.tenant, latch.workKey, latch.taskId);
  }
  for (const { candidate } of wanted) {
    if (candidate.work !== null) add(candidate.tenant.id, candidate.work.workKey, candidate.taskId);
  }
  return [...keys.values()];
}

/** Folds the batch by delivery first: one statement must not hold a key twice (SQL rule 3). */
async function rememberDeliveries(
  c: Connection,
  batch: readonly Prepared[],
  active: ActivePolicy,
): Promise<AdmissionState['deliveries']> {
  const firsts = new Map<string, DeliveryRow>();
  for (const prepared of batch) {
    const { candidate } = prepared;
    if (candidate.parentReceiptId !== null) continue;
    for (const eventId of namesOf(candidate)) {
      const key = deliveryKey({ source: candidate.signal.source, eventId });
      if (firsts.has(key)) continue;
      firsts.set(key, {
        sourceId: candidate.signal.source,
        eventId,
        tenantId: tenantIdOf(prepared, active),
        receiptId: candidate.receiptId,
        dedupeWindowMs: candidate.route?.dedupeWindowMs ?? DEFAULT_DEDUPE_MS,
      });
    }
  }
  const fresh = await deliveries.remember(c, [...firsts.values()]);
  const repeated = [...firsts].filter(([key]) => !fresh.has(key)).map(([, row]) => row);
  return deliveries.first(c, repeated);
}

/** The delivery's own name, and that of the command it brings, which other deliveries may bring too. */
const namesOf = ({ signal, asked }: Candidate): readonly string[] =>
  asked == null ? [signal.eventId] : [signal.eventId, askedEventId(asked)];

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
  state: AdmissionState,
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

  const firsts = firstReceipts(batch, state);
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
      decisions.map((decision) =>
        receiptRow(decision, preparedOf(decision), active, parentOf(decision, firsts)),
      ),
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
  const latches = new Map<TaskId, LatchWrite>(
    of('latch').map(({ write, prepared }) => [write.taskId, { latch: write.latch, prepared }]),
  );
  for (const { prepared, latch } of refusedLatches(batch, decisions, state)) {
    if (!latches.has(latch.taskId)) latches.set(latch.taskId, { latch: null, prepared });
  }
  const waiting = [...latches].filter(([, { latch }]) => latch !== null).map(([taskId]) => taskId);
  const behindLive = await taskVersions.lockLive(c, waiting);
  await takePromoted(c, batch);
  await writeLatches(c, latches, behindLive, context);
  await deferredSignals.insert(
    c,
    decisions.flatMap((decision) =>
      decision.writes.flatMap((write) =>
        write.kind === 'defer'
          ? [deferredRow(write.reasonCode, write.dueAt, preparedOf(decision), decision.taskId, context)]
          : [],
      ),
    ),
  );
  await touches.put(
    c,
    of('touch').flatMap(({ write, prepared }) =>
      touchedSubjects(write.candidate).map(({ subject }) => ({
        tenantId: tenantIdOf(prepared, active),
        subject,
      })),
    ),
  );
  await feedback.insert(
    c,
    of('feedback').map(({ write: { at, candidate, reasonCode, message }, prepared }) => ({
      receiptId: candidate.receiptId,
      tenantId: tenantIdOf(prepared, active),
      ...at,
      reasonCode,
      message,
    })),
  );
}

interface LatchWrite {
  readonly latch: Latch | null;
  readonly prepared: Prepared;
}

/** A latch whose promotion was refused before its task was looked at (its route is gone) still has to fall. */
function refusedLatches(
  batch: readonly Prepared[],
  decisions: readonly Decision[],
  state: AdmissionState,
): readonly { readonly prepared: Prepared; readonly latch: { readonly taskId: TaskId } }[] {
  return batch.flatMap((prepared, at) => {
    const { promotes } = prepared.submission;
    const latch = promotes?.latch ?? null;
    if (promotes == null || latch === null || decisions[at]?.taskId != null) return [];
    const standing = state.tasks.get(taskKey(latch.tenant, latch.workKey))?.latch ?? null;
    return standing?.receiptId === promotes.parentReceiptId ? [{ prepared, latch }] : [];
  });
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
  latches: ReadonlyMap<TaskId, LatchWrite>,
  behindLive: ReadonlySet<TaskId>,
  context: BatchContext,
): Promise<void> {
  if (latches.size === 0) return;
  await tasks.setLatch(
    c,
    [...latches].map(([taskId, { latch }]) => ({ taskId, latch })),
  );
  await deferredSignals.dropLatches(c, [...latches.keys()]);
  await deferredSignals.insert(
    c,
    [...latches]
      .filter(([, { latch }]) => latch !== null)
      .map(([taskId, { prepared }]) =>
        deferredRow('QUEUED_NEXT', behindLive.has(taskId) ? null : new Date(0), prepared, taskId, context),
      ),
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
  const { submission } = prepared;
  const candidate: DeferredSubmission = {
    signal,
    work: submission.work ?? null,
    directive,
    again: prepared.submission.again ?? null,
    observe: prepared.submission.observe ?? null,
    tenant: tenant.id,
    headStartSeconds: submission.headStartSeconds ?? null,
    beside: submission.beside ?? null,
    workKey: work?.workKey ?? null,
  };
  return {
    id: context.newDeferredId(),
    tenantId: tenantIdOf(prepared, context.active),
    receiptId,
    taskId,
    reasonCode,
    dueAt,
    candidate,
  };
}

const lastOfEach = <T extends { taskId: TaskId }>(rows: readonly T[]): T[] => [
  ...new Map(rows.map((row) => [row.taskId, row])).values(),
];

/** The receipt that each delivery got first, here or before. */
function firstReceipts(batch: readonly Prepared[], state: AdmissionState): ReadonlyMap<string, ReceiptId> {
  const firsts = new Map([...state.deliveries].map(([key, first]) => [key, first.receiptId]));
  for (const { candidate } of batch) {
    const key = deliveryKey(candidate.signal);
    if (candidate.parentReceiptId === null && !firsts.has(key)) firsts.set(key, candidate.receiptId);
  }
  return firsts;
}

/** A promotion names the receipt that deferred it, a repeated delivery the first one's. */
const parentOf = (
  { candidate, reasonCode }: Decision,
  firsts: ReadonlyMap<string, ReceiptId>,
): ReceiptId | null =>
  reasonCode === 'DUPLICATE_DELIVERY'
    ? (firsts.get(deliveryKey(candidate.signal)) ?? null)
    : candidate.parentReceiptId;

function receiptRow(
  decision: Decision,
  prepared: Prepared,
  active: ActivePolicy,
  parentReceiptId: ReceiptId | null,
): DecisionReceipt {
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
    watermark: decision.outcome === 'no-work' ? (prepared.submission.watermark ?? null) : null,
    parentReceiptId,
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
