/** What stands in the database when a batch is decided: its deliveries remembered, its tasks locked, then read. */
import {
  type AdmissionState,
  type Candidate,
  checkWork,
  deliveryKey,
  hashWorkKey,
  isNews,
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
  type DebouncedRow,
  type DeliveryRow,
  deferredSignals,
  deliveries,
  publicationPlaces,
  readyItems,
  type TaskKey,
  type TaskRow,
  tasks,
  taskVersions,
} from '@headgate/store';
import { type BatchContext, tenantIdOf } from './batch-context.js';
import { loadGuard } from './guard-state.js';
import type { Prepared } from './prepare.js';
import { repositoryKeyOf } from './run-rows.js';

export async function loadState(
  c: Connection,
  batch: readonly Prepared[],
  context: BatchContext,
): Promise<AdmissionState> {
  const seen = await rememberDeliveries(c, batch, context.active);
  const fresh = batch.filter((prepared) => !isRepeat(prepared, seen));
  const wanted = fresh.filter(
    ({ candidate: { route, work } }) => route !== null && work !== null && checkWork(work).ok,
  );
  const rows = await tasks.lock(c, tasksToLock(fresh, wanted, context.active));
  const tenantKeys = new Map([...context.active.tenantIds].map(([key, id]) => [id, key]));
  const rowOf = new Map(rows.map((row) => [taskKey(tenantKeys.get(row.tenantId) ?? '', row.workKey), row]));
  const pairs = wanted.flatMap((p) => {
    const row = rowOf.get(taskKey(p.candidate.tenant.id, p.candidate.work?.workKey ?? ''));
    return row === undefined || row.isNew
      ? []
      : [{ taskId: row.id, inputVersion: p.candidate.work?.inputVersion ?? '' }];
  });
  const bounded = [
    ...new Map(fresh.map((p) => [p.candidate.tenant.id, p.candidate.tenant])).values(),
  ].flatMap((tenant) => {
    const tenantId = context.active.tenantIds.get(tenant.id);
    return tenant.maxQueued === null || tenantId === undefined ? [] : [{ tenantId, most: tenant.maxQueued }];
  });
  const places = placesOf(fresh, context);
  // In a statement of its own, behind the tasks' locks: two admissions must not count the same free place.
  await publicationPlaces.lock(c, [...places.values()]);
  // A task that is made here has no versions, no runs and nothing that waits.
  const standing = [...rowOf].filter(([, row]) => !row.isNew);
  const taskIds = standing.map(([, row]) => row.id);
  const idsByKey = new Map(standing.map(([key, row]) => [key, row.id]));
  const isDebouncing = context.active.policy.routes.some((route) => route.debounce !== null);
  const [live, known, queued, waiting, open, held, clock, { guard, chains }] = await Promise.all([
    taskVersions.live(c, taskIds),
    taskVersions.known(c, pairs),
    readyItems.countOf(c, bounded, context.queueIds),
    isDebouncing && taskIds.length > 0 ? deferredSignals.debounced(c, taskIds) : [],
    places.size === 0 || taskIds.length === 0 ? new Set<TaskId>() : publicationPlaces.open(c, taskIds),
    publicationPlaces.held(c, [...places.values()]),
    c.query<{ now: Date }>('select clock_timestamp() as now'),
    loadGuard(c, fresh, idsByKey, context),
  ]);
  return {
    deliveries: seen,
    tasks: new Map(
      [...rowOf].map(([key, row]) => [
        key,
        { ...taskState(row, { live, known, waiting, open }), chain: chains.get(row.id) ?? null },
      ]),
    ),
    guard,
    openByRepository: new Map([...places].map(([name, id]) => [name, held.get(id) ?? 0])),
    queuedByTenant: new Map([...queued].map(([id, waiting]) => [tenantKeys.get(id) ?? '', waiting])),
    now: clock[0]?.now ?? new Date(0),
  };
}

/** A delivery that was answered before, with all its routes: nothing of its work is asked, so nothing is locked for it. */
const isRepeat = ({ candidate }: Prepared, seen: AdmissionState['deliveries']): boolean =>
  candidate.parentReceiptId === null && seen.has(deliveryKey(candidate.signal));

/** The repositories whose open pull requests are limited, by `Candidate.repository`. */
export function placesOf(batch: readonly Prepared[], context: BatchContext): ReadonlyMap<string, number> {
  const { policy } = context.active;
  if (!policy.routes.some((route) => route.maxOpenPullRequests !== null)) return new Map();
  return new Map(
    batch.flatMap((prepared) => {
      const { candidate } = prepared;
      if (candidate.repository === null || candidate.work === null) return [];
      const key = repositoryKeyOf(prepared, tenantIdOf(prepared, context.active));
      return key === null ? [] : [[candidate.repository, context.dimensions.repositoryId(key)] as const];
    }),
  );
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
    if (!isNews(candidate)) continue;
    for (const eventId of namesOf(candidate)) {
      const key = deliveryKey({ source: candidate.signal.source, eventId });
      const dedupeWindowMs = candidate.route?.dedupeWindowMs ?? DEFAULT_DEDUPE_MS;
      const first = firsts.get(key);
      // Of the routes that take it, the longest memory counts.
      if (first !== undefined) {
        firsts.set(key, { ...first, dedupeWindowMs: Math.max(first.dedupeWindowMs, dedupeWindowMs) });
        continue;
      }
      firsts.set(key, {
        sourceId: candidate.signal.source,
        eventId,
        tenantId: tenantIdOf(prepared, active),
        receiptId: candidate.receiptId,
        dedupeWindowMs,
      });
    }
  }
  const fresh = await deliveries.remember(c, [...firsts.values()]);
  const repeated = [...firsts].filter(([key]) => !fresh.has(key)).map(([, row]) => row);
  return deliveries.first(c, repeated);
}

/**
 * The delivery's own name, and that of the comment it brings, which other deliveries may bring too. A delivery that
 * woke has its own already.
 */
const namesOf = ({ signal, heardAs, parentReceiptId }: Candidate): readonly string[] => [
  ...(parentReceiptId === null ? [signal.eventId] : []),
  ...(heardAs == null ? [] : [heardAs]),
];

/** Longer than GitHub's redelivery window of three days. */
const DEFAULT_DEDUPE_MS = 7 * 24 * 3_600_000;

interface TaskRows {
  readonly live: readonly (LiveRun & { taskId: TaskId })[];
  readonly known: readonly (KnownVersion & { taskId: TaskId; inputVersion: string })[];
  readonly waiting: readonly DebouncedRow[];
  readonly open: ReadonlySet<TaskId>;
}

function taskState(row: TaskRow, { live, known, waiting, open }: TaskRows): TaskState {
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
    debounced: waiting.filter((version) => version.taskId === row.id),
    hasOpenPublication: open.has(row.id),
    live: mine,
    versions,
  };
}
