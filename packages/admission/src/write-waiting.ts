/**
 * What a batch leaves waiting: latches, deferred and debounced signals; and what it takes away: the rows it promotes
 * or replaces. Last in the transaction, behind every other lock (SQL rule 8): taken rows in the order of their ids,
 * then files in key order.
 */
import {
  type AdmissionState,
  type AdmissionWrite,
  type Decision,
  type DeferredId,
  ENVELOPE_VERSION,
  type Latch,
  type TaskId,
  taskKey,
} from '@headgate/domain';
import {
  type Connection,
  type DeferredRow,
  deferredSignals,
  type RepositoryFileKey,
  repositoryFileKey,
  repositoryFiles,
  tasks,
  taskVersions,
} from '@headgate/store';
import { type BatchContext, tenantIdOf } from './batch-context.js';
import type { Prepared } from './prepare.js';
import { isFileReadable } from './repository.js';
import type { DeferredSubmission } from './submission.js';

/** Another promoter was faster with these; the rest of the batch may be tried again without them. */
export class AlreadyPromotedError extends Error {
  constructor(readonly deferredIds: readonly DeferredId[]) {
    super('deferred signals were promoted by another process');
    this.name = 'AlreadyPromotedError';
  }
}

export interface Written {
  readonly batch: readonly Prepared[];
  readonly state: AdmissionState;
  readonly decisions: readonly Decision[];
  readonly preparedOf: (decision: Decision) => Prepared;
}

export async function writeWaiting(c: Connection, written: Written, context: BatchContext): Promise<void> {
  const { batch } = written;
  const latches = latchesOf(written);
  const behind = [...latches].filter(([, { latch }]) => latch !== null).map(([taskId]) => taskId);
  const behindLive = await taskVersions.lockLive(c, behind);
  const { rows, replaced } = waitingRows(written, context);
  await takeRows(c, batch, replaced);
  await writeLatches(c, latches, behindLive, context);
  const fileIds = await requestFiles(c, written, context);
  await deferredSignals.insert(
    c,
    rows.map(({ row, fileKey }) =>
      fileKey === null
        ? row
        : { ...row, repositoryFileId: row.repositoryFileId ?? fileIds.get(fileKey) ?? null },
    ),
  );
}

interface LatchWrite {
  readonly latch: Latch | null;
  readonly prepared: Prepared;
}

/** The last word of the batch on each latch. */
function latchesOf({ batch, state, decisions, preparedOf }: Written): ReadonlyMap<TaskId, LatchWrite> {
  const latches = new Map<TaskId, LatchWrite>();
  for (const decision of decisions) {
    for (const write of decision.writes) {
      if (write.kind !== 'latch') continue;
      latches.set(write.taskId, { latch: write.latch, prepared: preparedOf(decision) });
    }
  }
  for (const { prepared, taskId } of refusedLatches(batch, decisions, state)) {
    if (!latches.has(taskId)) latches.set(taskId, { latch: null, prepared });
  }
  return latches;
}

/** A latch whose promotion was refused before its task was looked at (its route is gone) still has to fall. */
function refusedLatches(
  batch: readonly Prepared[],
  decisions: readonly Decision[],
  state: AdmissionState,
): readonly { readonly prepared: Prepared; readonly taskId: TaskId }[] {
  const decided = new Map(decisions.map((decision) => [decision.candidate.receiptId, decision]));
  return batch.flatMap((prepared) => {
    const { promotes } = prepared.submission;
    const latch = promotes?.latch ?? null;
    if (promotes == null || latch === null) return [];
    if (decided.get(prepared.candidate.receiptId)?.taskId != null) return [];
    const standing = state.tasks.get(taskKey(latch.tenant, latch.workKey))?.latch ?? null;
    return standing?.receiptId === promotes.parentReceiptId ? [{ prepared, taskId: latch.taskId }] : [];
  });
}

interface WaitingRow {
  readonly row: DeferredRow;
  /** The file that has to be read first, by its key. */
  readonly fileKey: string | null;
}

/** Deferred and debounced signals; a debounced one that another of the batch replaces is never written. */
function waitingRows(
  { decisions, preparedOf }: Written,
  context: BatchContext,
): { readonly rows: readonly WaitingRow[]; readonly replaced: readonly DeferredId[] } {
  const rows = new Map<DeferredId, WaitingRow>();
  const replaced: DeferredId[] = [];
  for (const decision of decisions) {
    const prepared = preparedOf(decision);
    for (const write of decision.writes) {
      if (write.kind === 'defer') {
        const row = deferredRow({ ...write, taskId: decision.taskId }, prepared, context);
        const { file } = prepared;
        const fileKey = file?.isRequested === true ? repositoryFileKey(fileKeyOf(prepared, context)) : null;
        rows.set(row.id, { row: { ...row, repositoryFileId: fileOf(write, prepared) }, fileKey });
      }
      if (write.kind === 'debounce') {
        const { replaces } = write;
        if (replaces !== null && !rows.delete(replaces)) replaced.push(replaces);
        const row = deferredRow({ ...write, reasonCode: 'DEBOUNCED' }, prepared, context);
        rows.set(row.id, { row, fileKey: null });
      }
    }
  }
  return { rows: [...rows.values()], replaced };
}

const fileOf = (write: AdmissionWrite & { kind: 'defer' }, { file }: Prepared): number | null =>
  write.reasonCode === 'REPOSITORY_CONFIG_INVALID' ? (file?.fileId ?? null) : null;

/** Deletes what is promoted, which must be there, and what is replaced, which may have been promoted meanwhile. */
async function takeRows(
  c: Connection,
  batch: readonly Prepared[],
  replaced: readonly DeferredId[],
): Promise<void> {
  const promoted = batch.flatMap((prepared) => prepared.submission.promotes?.deferredId ?? []);
  if (promoted.length + replaced.length === 0) return;
  const taken = await deferredSignals.take(c, [...promoted, ...replaced]);
  const lost = promoted.filter((id) => !taken.has(id));
  if (lost.length > 0) throw new AlreadyPromotedError(lost);
}

/** What waited before gives way. */
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
      .map(([taskId, { prepared }]) => {
        const dueAt = behindLive.has(taskId) ? null : new Date(0);
        return deferredRow({ taskId, dueAt, reasonCode: 'QUEUED_NEXT' }, prepared, context);
      }),
  );
}

/** Asks for the files that decisions of the batch wait for, and for those whose default branch has moved. */
function requestFiles(
  c: Connection,
  { batch, decisions, preparedOf }: Written,
  context: BatchContext,
): Promise<ReadonlyMap<string, number>> {
  const { policy } = context.active;
  const awaited = decisions
    .map(preparedOf)
    .filter(({ file }) => file?.isRequested === true)
    .map((prepared) => ({ ...fileKeyOf(prepared, context), hasMoved: false }));
  const isAsked = policy.routes.some((route) => route.repositoryFile !== null);
  const moved = (isAsked ? batch : []).flatMap((prepared) => {
    const { repository } = prepared;
    if (repository === null || !isFileReadable(repository, policy) || !movesDefaultBranch(prepared))
      return [];
    const { source, fullName } = repository;
    return [{ tenantId: tenantIdOf(prepared, context.active), source, fullName, hasMoved: true }];
  });
  return repositoryFiles.request(c, [...awaited, ...moved]);
}

const movesDefaultBranch = ({ candidate: { signal } }: Prepared): boolean =>
  signal.type === 'github.push' &&
  signal.target?.kind === 'branch' &&
  signal.target.id === signal.repository?.defaultBranch;

function fileKeyOf(prepared: Prepared, context: BatchContext): RepositoryFileKey {
  const { file } = prepared;
  if (file === null) throw new Error('only what asks a file waits for one');
  return { tenantId: tenantIdOf(prepared, context.active), source: file.source, fullName: file.fullName };
}

interface Waits {
  readonly taskId: TaskId | null;
  readonly dueAt: Date | null;
  readonly reasonCode: DeferredRow['reasonCode'];
  readonly since?: Date;
}

function deferredRow(
  { taskId, dueAt, reasonCode, since }: Waits,
  prepared: Prepared,
  context: BatchContext,
): DeferredRow {
  const { submission } = prepared;
  const { signal, work, directive, tenant, receiptId, deferredId, route } = prepared.candidate;
  const candidate: DeferredSubmission = {
    version: ENVELOPE_VERSION,
    signal,
    work: submission.work ?? null,
    directive,
    again: submission.again ?? null,
    observe: submission.observe ?? null,
    replays: submission.replays ?? null,
    tenant: tenant.id,
    headStartSeconds: submission.headStartSeconds ?? null,
    beside: submission.beside ?? null,
    workKey: work?.workKey ?? null,
    route: route?.id ?? null,
    isWake: prepared.isWake,
    inputVersion: work?.inputVersion ?? null,
    debouncedSince: since?.toISOString() ?? null,
  };
  return {
    id: deferredId,
    tenantId: tenantIdOf(prepared, context.active),
    receiptId,
    taskId,
    reasonCode,
    dueAt,
    candidate,
    repositoryFileId: null,
  };
}
