/**
 * A small history in which everything happens that the invariants are about, and nothing goes wrong. Tests
 * change one thing and look which invariant notices. Instants are milliseconds after a start, for database and
 * monotonic clock alike.
 */
import { type RunStatus, TRANSITIONS } from '@headgate/domain';
import { HISTORY_OPS, type HistoryOp } from '@headgate/telemetry';
import {
  type AttemptRow,
  baselineOf,
  type CheckerInput,
  type CheckerSettings,
  type ReceiptRow,
  type RunEventRow,
  type RunRow,
} from '../src/index.js';

export type Writable<T> = T extends readonly (infer Item)[]
  ? Writable<Item>[]
  : T extends object
    ? { -readonly [Key in keyof T]: Writable<T[Key]> }
    : T;
export type World = Writable<CheckerInput>;
export type Entry = World['history'][number];

export const SETTINGS: CheckerSettings = {
  ttlMs: 1_000,
  stopMarginMs: 300,
  reapPeriodMs: 200,
  pollIntervalMs: 100,
  ambiguousBoundMs: 5_000,
  slackMs: 50,
  clockToleranceMs: 5,
};

const START_MS = 1_000_000;
export const at = (ms: number): number => START_MS + ms;
export const monoNs = (ms: number): string => String(BigInt(at(ms)) * 1_000_000n);

/** Adds an entry to the history as its process would have written it at that time. */
export function entry(
  world: World,
  proc: string,
  ms: number,
  type: Entry['type'],
  op: HistoryOp,
  fields: Partial<Entry> = {},
): Entry {
  const seq = world.history.filter((other) => other.proc === proc).length + 1;
  const made: Entry = { seq, proc, monoNs: monoNs(ms), type, op, ...fields };
  world.history.push(made);
  return made;
}

export function run(
  id: string,
  taskId: string,
  inputVersion: string,
  rest: Partial<Writable<RunRow>>,
): Writable<RunRow> {
  return {
    id,
    taskId,
    receiptId: `rc-${id}`,
    generation: 1,
    inputVersion,
    workKey: `key-${taskId}`,
    status: 'QUEUED',
    reasonCode: 'ADMITTED',
    attemptNo: 0,
    failuresLeaseLost: 0,
    createdAtMs: at(0),
    startedAtMs: null,
    finishedAtMs: null,
    cancelRequestedAtMs: null,
    exclusiveKeys: [`task ${taskId}`],
    ...rest,
  };
}

export function receipt(id: string, of: RunRow, reasonCode: string): ReceiptRow {
  return {
    id,
    kind: 'decision',
    outcome: reasonCode === 'ADMITTED' ? 'accept' : 'reject',
    reasonCode,
    parentReceiptId: null,
    taskId: of.taskId,
    runId: of.id,
    generation: of.generation,
    inputVersion: of.inputVersion,
  };
}

let eventCount = 0;
/** The steps of one transaction. */
export function events(
  runId: string,
  ms: number,
  from: RunStatus | null,
  steps: readonly RunStatus[],
  rest: Partial<RunEventRow> = {},
): RunEventRow[] {
  let before = from;
  return steps.map((to) => {
    eventCount += 1;
    const made: RunEventRow = {
      id: `e${String(eventCount).padStart(6, '0')}`,
      xid: `x-${runId}-${ms}`,
      runId,
      atMs: at(ms),
      type: `run.${to.toLowerCase()}`,
      from: before,
      to,
      reasonCode: null,
      attemptNo: null,
      fencingToken: null,
      leaseId: null,
      ...rest,
    };
    before = to;
    return made;
  });
}

const lease = (runId: string, leaseId: string, fencingToken: string): Partial<Entry> => ({
  run: runId,
  leaseId,
  fencingToken,
});

function attempt(
  id: string,
  runId: string,
  number: number,
  workerId: string,
  token: string,
  status: AttemptRow['status'],
  startedMs: number,
  finishedMs: number,
): AttemptRow {
  return {
    id,
    runId,
    number,
    workerId,
    leaseId: `L${token}`,
    fencingToken: token,
    status,
    startedAtMs: at(startedMs),
    finishedAtMs: at(finishedMs),
  };
}

export function goodWorld(): World {
  eventCount = 0;
  const ended = { reasonCode: 'SUCCEEDED' };
  // r1: its first worker freezes, another takes over and pushes; the first wakes and is refused.
  const r1 = run('r1', 't1', 'v1', {
    ...ended,
    status: 'SUCCEEDED',
    attemptNo: 2,
    failuresLeaseLost: 1,
    startedAtMs: at(100),
    finishedAtMs: at(2_000),
  });
  // r2: cancelled before it began.
  const r2 = run('r2', 't2', 'v1', {
    status: 'CANCELLED',
    reasonCode: 'CANCELLED_BY_USER',
    finishedAtMs: at(300),
    cancelRequestedAtMs: at(300),
  });
  // r3: the next version of r1's task, cancelled while it ran.
  const r3 = run('r3', 't1', 'v2', {
    status: 'CANCELLED',
    reasonCode: 'CANCELLED_BY_USER',
    attemptNo: 1,
    createdAtMs: at(50),
    startedAtMs: at(2_100),
    finishedAtMs: at(2_310),
    cancelRequestedAtMs: at(2_200),
  });
  const runs = [r1, r2, r3];
  const firstReceipts = runs.map((one) => receipt(one.receiptId, one, 'ADMITTED'));
  const again = receipt('rc-again', r1, 'DUPLICATE_WORK');
  const lost = { attemptNo: 1 };
  const inOrder = [
    // A birth leaves two events of one step.
    ...events('r1', 0, null, ['QUEUED']),
    ...events('r1', 0, null, ['QUEUED']),
    ...events('r2', 0, null, ['QUEUED']),
    ...events('r3', 50, null, ['QUEUED']),
    ...events('r1', 100, 'QUEUED', ['CLAIMED'], { leaseId: 'L1', fencingToken: '1', attemptNo: 1 }),
    ...events('r1', 120, 'CLAIMED', ['RUNNING'], lost),
    ...events('r2', 300, 'QUEUED', ['CANCEL_REQUESTED', 'CANCELLING', 'CANCELLED']),
    ...events('r1', 1_500, 'RUNNING', ['STALE_LEASE', 'FAILED_RETRYABLE', 'QUEUED'], lost),
    ...events('r1', 1_600, 'QUEUED', ['CLAIMED'], { leaseId: 'L2', fencingToken: '2', attemptNo: 2 }),
    ...events('r1', 1_620, 'CLAIMED', ['RUNNING', 'VERIFYING', 'JUDGING', 'FINALIZING']),
    ...events('r1', 2_000, 'FINALIZING', ['SUCCEEDED']),
    ...events('r3', 2_100, 'QUEUED', ['CLAIMED'], { leaseId: 'L3', fencingToken: '3', attemptNo: 1 }),
    ...events('r3', 2_110, 'CLAIMED', ['RUNNING']),
    ...events('r3', 2_200, 'RUNNING', ['CANCEL_REQUESTED']),
    ...events('r3', 2_310, 'CANCEL_REQUESTED', ['CANCELLING', 'CANCELLED']),
  ];
  // One transaction drew its id early and committed late.
  const late = inOrder.find((event) => event.runId === 'r3');
  const runEvents = inOrder.map((event) => (event === late ? { ...event, id: 'e000000' } : event));

  const world: World = {
    nowAtMs: at(3_000),
    runs,
    attempts: [
      attempt('a1', 'r1', 1, 'w1', '1', 'lost', 100, 1_500),
      attempt('a2', 'r1', 2, 'w2', '2', 'succeeded', 1_600, 2_000),
      attempt('a3', 'r3', 1, 'w1', '3', 'cancelled', 2_100, 2_310),
    ],
    leases: [],
    queueItems: [],
    runEvents,
    eventOrder: 'commit',
    receipts: [...firstReceipts, again],
    deliveries: [{ sourceId: 'github', eventId: 'd1', receiptId: 'rc-r1' }],
    operations: [
      {
        key: 'K1',
        runId: 'r1',
        state: 'confirmed',
        leaseId: 'L2',
        externalId: 'refs/heads/agent@abc',
        intendedAtMs: at(1_650),
        attemptedAtMs: at(1_725),
      },
    ],
    taskVersions: runs.map((one) => ({
      taskId: one.taskId,
      generation: 1,
      inputVersion: one.inputVersion,
      runId: one.id,
      outcome: one.status,
    })),
    workers: [
      { id: 'w1', slots: 1 },
      { id: 'w2', slots: 1 },
    ],
    history: [],
    providerLog: [
      {
        seq: 1,
        monoNs: monoNs(1_680),
        kind: 'push',
        target: 'agent',
        operationKey: 'K1',
        content: 'abc',
        visible: false,
        compareAndSet: { expected: 'old', before: 'other' },
      },
      {
        seq: 2,
        monoNs: monoNs(1_740),
        kind: 'push',
        target: 'agent',
        operationKey: 'K1',
        content: 'abc',
        visible: true,
        compareAndSet: { expected: 'old', before: 'old' },
      },
    ],
    transitions: structuredClone(TRANSITIONS) as World['transitions'],
    snapshots: [
      {
        atMs: at(60),
        runs: [
          { runId: 'r1', status: 'QUEUED', reasonCode: 'ADMITTED', hasLease: false, item: 'dispatched' },
          { runId: 'r3', status: 'QUEUED', reasonCode: 'ADMITTED', hasLease: false, item: 'ready' },
        ],
      },
      {
        atMs: at(150),
        runs: [
          { runId: 'r1', status: 'RUNNING', reasonCode: 'ADMITTED', hasLease: true, item: null },
          { runId: 'r2', status: 'QUEUED', reasonCode: 'ADMITTED', hasLease: false, item: 'delayed' },
        ],
      },
    ],
    quiescent: true,
    baseline: structuredClone(baselineOf(runs)) as World['baseline'],
  };
  intakeOf(world, runs);
  firstWorker(world);
  secondWorker(world);
  others(world);
  return world;
}

function intakeOf(world: World, runs: readonly RunRow[]): void {
  for (const one of runs) {
    const result = {
      receiptId: one.receiptId,
      reasonCode: 'ADMITTED',
      runId: one.id,
      taskId: one.taskId,
      generation: one.generation,
      inputVersion: one.inputVersion,
      ...(one.id === 'r2' ? { idempotencyKey: 'idem', bodyDigest: 'body' } : {}),
    };
    entry(world, 'intake-1', 10, 'invoke', HISTORY_OPS.intakeAnswer, { key: one.receiptId });
    entry(world, 'intake-1', 20, 'ok', HISTORY_OPS.intakeAnswer, { key: one.receiptId, tenant: 1, result });
  }
  const [first, , third] = runs;
  const again = { receiptId: 'rc-again', reasonCode: 'DUPLICATE_WORK', runId: 'r1', taskId: first?.taskId };
  entry(world, 'intake-1', 30, 'ok', HISTORY_OPS.intakeAnswer, {
    key: 'rc-again',
    result: { ...again, generation: 1, inputVersion: first?.inputVersion },
  });
  entry(world, 'intake-1', 40, 'fail', HISTORY_OPS.intakeAnswer, {
    key: 'rc-other-body',
    tenant: 1,
    result: { refusal: 'IDEMPOTENCY_KEY_REUSED', idempotencyKey: 'idem', bodyDigest: 'other' },
  });
  entry(world, 'intake-1', 50, 'info', HISTORY_OPS.intakeAnswer, { key: third?.receiptId ?? null });
}

/** w1: claims r1, renews once, freezes past its expiry, wakes and is refused everywhere. Then it takes r3. */
function firstWorker(world: World): void {
  const { claim, renew, workStart, finish, intend, hintReceive, trustLost } = HISTORY_OPS;
  const held = lease('r1', 'L1', '1');
  entry(world, 'worker-1', 80, 'info', hintReceive, { run: 'r1', key: '1' });
  entry(world, 'worker-1', 85, 'info', hintReceive, { run: 'r1', key: '1' });
  entry(world, 'worker-1', 88, 'info', hintReceive, { run: 'r1', key: '1' });
  entry(world, 'worker-1', 90, 'invoke', claim, { key: 'w1', result: ['r1'] });
  entry(world, 'worker-1', 105, 'ok', claim, {
    ...held,
    key: 'w1',
    result: { acquiredAt: at(100), expiresAt: at(1_100) },
  });
  entry(world, 'worker-1', 120, 'invoke', workStart, held);
  // The keeper is a thread of the same process.
  entry(world, 'worker-1-t1', 390, 'invoke', renew, held);
  entry(world, 'worker-1-t1', 405, 'ok', renew, {
    ...held,
    result: { renewedAt: at(400), previousExpiresAt: at(1_100), expiresAt: at(1_400) },
  });
  entry(world, 'worker-1', 1_800, 'ok', trustLost, held);
  entry(world, 'worker-1-t1', 1_805, 'invoke', renew, held);
  entry(world, 'worker-1-t1', 1_810, 'fail', renew, { ...held, result: { answer: 'lost' } });
  entry(world, 'worker-1', 1_815, 'invoke', finish, held);
  entry(world, 'worker-1', 1_820, 'fail', finish, held);
  entry(world, 'worker-1', 1_830, 'invoke', intend, { ...held, key: 'K1' });
  entry(world, 'worker-1', 1_835, 'fail', intend, { ...held, key: 'K1' });

  const next = lease('r3', 'L3', '3');
  entry(world, 'worker-1', 2_090, 'invoke', claim, { key: 'w1', result: ['r3'] });
  entry(world, 'worker-1', 2_105, 'ok', claim, {
    ...next,
    key: 'w1',
    result: { acquiredAt: at(2_100), expiresAt: at(3_100) },
  });
  entry(world, 'worker-1', 2_110, 'invoke', workStart, next);
  entry(world, 'worker-1', 2_300, 'invoke', finish, next);
  entry(world, 'worker-1', 2_315, 'ok', finish, {
    ...next,
    result: { status: 'CANCELLED', committedAt: at(2_310) },
  });
}

/** w2: takes r1 over; its first call is ambiguous, it reads, calls again; the answer of its finish is lost. */
function secondWorker(world: World): void {
  const { claim, renew, workStart, finish, intend, attempt: attempted, effectCall, effectRead } = HISTORY_OPS;
  const held = lease('r1', 'L2', '2');
  const operation = { ...held, key: 'K1' };
  entry(world, 'worker-2', 1_590, 'invoke', claim, { key: 'w2', result: ['r1'] });
  entry(world, 'worker-2', 1_605, 'ok', claim, {
    ...held,
    key: 'w2',
    result: { acquiredAt: at(1_600), expiresAt: at(2_600) },
  });
  entry(world, 'worker-2', 1_610, 'invoke', workStart, held);
  entry(world, 'worker-2', 1_645, 'invoke', intend, operation);
  entry(world, 'worker-2', 1_652, 'ok', intend, { ...operation, result: { committedAt: at(1_650) } });
  entry(world, 'worker-2', 1_654, 'ok', attempted, operation);
  entry(world, 'worker-2', 1_660, 'invoke', effectCall, operation);
  entry(world, 'worker-2', 1_700, 'info', effectCall, operation);
  entry(world, 'worker-2', 1_710, 'info', effectRead, { ...operation, result: { kind: 'untouched' } });
  entry(world, 'worker-2', 1_725, 'ok', attempted, operation);
  entry(world, 'worker-2', 1_730, 'invoke', effectCall, operation);
  entry(world, 'worker-2', 1_750, 'ok', effectCall, operation);
  entry(world, 'worker-2-t1', 1_890, 'invoke', renew, held);
  entry(world, 'worker-2-t1', 1_905, 'ok', renew, {
    ...held,
    result: { renewedAt: at(1_900), previousExpiresAt: at(2_600), expiresAt: at(2_900) },
  });
  entry(world, 'worker-2', 1_990, 'invoke', finish, held);
  entry(world, 'worker-2', 2_030, 'info', finish, held);
  entry(world, 'worker-2', 2_040, 'invoke', finish, held);
  entry(world, 'worker-2', 2_050, 'fail', finish, held);
}

function others(world: World): void {
  const { reap, cancel, redisFlushed, eventDeliver } = HISTORY_OPS;
  const lost = lease('r1', 'L1', '1');
  entry(world, 'reconciler-1', 1_510, 'ok', reap, {
    ...lost,
    result: { expiredAt: at(1_400), reapedAt: at(1_500) },
  });
  entry(world, 'reconciler-2', 1_512, 'fail', reap, lost);
  entry(world, 'console-1', 290, 'invoke', cancel, { run: 'r2' });
  entry(world, 'console-1', 310, 'ok', cancel, { run: 'r2' });
  entry(world, 'console-1', 2_190, 'invoke', cancel, { run: 'r3' });
  entry(world, 'console-1', 2_210, 'ok', cancel, { run: 'r3' });
  entry(world, 'test-1', 70, 'info', redisFlushed);
  for (const event of world.runEvents) {
    entry(world, 'console-1', 2_500, 'ok', eventDeliver, { key: 'notifier', result: { eventId: event.id } });
  }
}
