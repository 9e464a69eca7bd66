import { HISTORY_OPS } from '@headgate/telemetry';
import { describe, expect, it } from 'vitest';
import {
  type CheckerInput,
  checkHistory,
  describeReport,
  INVARIANTS,
  type InvariantId,
} from '../src/index.js';
import {
  at,
  type Entry,
  entry,
  events,
  goodWorld,
  monoNs,
  receipt,
  run,
  SETTINGS,
  type World,
} from './checker-world.js';

const check = (world: CheckerInput, invariants: readonly InvariantId[] = INVARIANTS) =>
  checkHistory(world, SETTINGS, invariants);

/** The one item that satisfies `which`; a test that changes nothing would prove nothing. */
function the<T>(items: readonly T[], which: (item: T) => boolean): T {
  const found = items.filter(which);
  const [first] = found;
  if (first === undefined || found.length > 1) throw new Error(`${found.length} items match`);
  return first;
}
const answer = (world: World, proc: string, op: string, ms: number): Entry =>
  the(world.history, (one) => one.proc === proc && one.op === op && one.monoNs === monoNs(ms));
const without = (world: World, unwanted: (one: Entry) => boolean): void => {
  const before = world.history.length;
  world.history = world.history.filter((one) => !unwanted(one));
  if (world.history.length === before) throw new Error('nothing was removed');
};
const runOf = (world: World, id: string) => the(world.runs, (one) => one.id === id);
const attemptOf = (world: World, id: string) => the(world.attempts, (one) => one.id === id);
const eventsOf = (world: World, id: string, to: string) =>
  world.runEvents.filter((event) => event.runId === id && event.to === to);

const K1 = { run: 'r1', leaseId: 'L2', fencingToken: '2', key: 'K1' };
const L1 = { run: 'r1', leaseId: 'L1', fencingToken: '1' };

/** For each invariant, single changes of the good history that break it. */
const VIOLATIONS: Readonly<Record<InvariantId, Readonly<Record<string, (world: World) => void>>>> = {
  'INV-IN1': {
    'an acknowledged receipt is missing at the end': (world) => {
      world.receipts = world.receipts.filter((one) => one.id !== 'rc-again');
    },
    'a delivery points at a receipt that is not there': (world) => {
      the(world.deliveries, () => true).receiptId = 'gone';
    },
  },
  'INV-IN2': {
    'a second run of the same version': (world) => {
      world.runs.push({ ...runOf(world, 'r1'), id: 'r1-twin' });
    },
    'a repeated delivery is told another run': (world) => {
      const told = answer(world, 'intake-1', HISTORY_OPS.intakeAnswer, 30);
      told.result = { ...(told.result as object), runId: 'r3' };
    },
    'a stored duplicate names another run': (world) => {
      the(world.receipts, (one) => one.id === 'rc-again').runId = 'r2';
    },
    'the tombstone names another run': (world) => {
      the(world.taskVersions, (one) => one.runId === 'r2').runId = 'r9';
    },
  },
  'INV-IN3': {
    'another body is accepted under a used key': (world) => {
      const result = {
        receiptId: 'rc-r3',
        reasonCode: 'ADMITTED',
        idempotencyKey: 'idem',
        bodyDigest: 'other',
      };
      entry(world, 'intake-1', 60, 'ok', HISTORY_OPS.intakeAnswer, { key: 'rc-r3', tenant: 1, result });
    },
    'the same request gets a second receipt': (world) => {
      const result = {
        receiptId: 'rc-r3',
        reasonCode: 'ADMITTED',
        idempotencyKey: 'idem',
        bodyDigest: 'body',
      };
      entry(world, 'intake-1', 60, 'ok', HISTORY_OPS.intakeAnswer, { key: 'rc-r3', tenant: 1, result });
    },
  },
  'INV-IN4': {
    'a run without its receipt': (world) => {
      runOf(world, 'r2').receiptId = 'none';
    },
    'a run that descends from a refusal': (world) => {
      the(world.receipts, (one) => one.id === 'rc-r2').outcome = 'reject';
    },
    'two runs of one receipt': (world) => {
      runOf(world, 'r3').receiptId = 'rc-r1';
    },
    'a receipt among its own ancestors': (world) => {
      the(world.receipts, (one) => one.id === 'rc-r1').parentReceiptId = 'rc-again';
      the(world.receipts, (one) => one.id === 'rc-again').parentReceiptId = 'rc-r1';
    },
  },
  'INV-LE1': {
    'the successor gets a smaller token': (world) => {
      attemptOf(world, 'a2').fencingToken = '0';
    },
    'two claims share a fence': (world) => {
      Object.assign(attemptOf(world, 'a3'), { fencingToken: '2', leaseId: 'L2' });
    },
    'an acknowledged claim left nothing': (world) => {
      world.attempts = world.attempts.filter((one) => one.id !== 'a3');
    },
  },
  'INV-LE2': {
    'a claim while the attempt before is still open': (world) => {
      Object.assign(attemptOf(world, 'a1'), { status: 'running', finishedAtMs: null });
    },
    'a claim before the attempt before ended': (world) => {
      attemptOf(world, 'a2').startedAtMs = at(1_400);
    },
    'a reaper that takes a lease which was renewed in time': (world) => {
      const renewal = answer(world, 'worker-1-t1', HISTORY_OPS.renew, 405);
      renewal.result = { renewedAt: at(400), previousExpiresAt: at(1_100), expiresAt: at(1_900) };
    },
  },
  'INV-LE3': {
    'a zombie’s finish is accepted': (world) => {
      answer(world, 'worker-1', HISTORY_OPS.finish, 1_820).type = 'ok';
    },
    'a zombie’s intent is accepted': (world) => {
      answer(world, 'worker-1', HISTORY_OPS.intend, 1_835).type = 'ok';
    },
    'a write is accepted with a lease of another run': (world) => {
      entry(world, 'worker-2', 1_640, 'ok', HISTORY_OPS.stage, {
        run: 'r2',
        leaseId: 'L2',
        fencingToken: '2',
      });
    },
    'a write commits after its lease was taken, by database time': (world) => {
      const early = { ...L1, result: { committedAt: at(1_550) } };
      entry(world, 'worker-1', 1_505, 'ok', HISTORY_OPS.stage, early);
    },
    'an event carries an earlier lease': (world) => {
      for (const event of eventsOf(world, 'r1', 'VERIFYING')) event.leaseId = 'L1';
    },
  },
  'INV-LE4': {
    'a renewal at the very expiry': (world) => {
      const renewal = answer(world, 'worker-1-t1', HISTORY_OPS.renew, 405);
      renewal.result = { renewedAt: at(1_100), previousExpiresAt: at(1_100), expiresAt: at(1_400) };
    },
    'a renewal after an expiry that only the history shows': (world) => {
      const renewal = answer(world, 'worker-2-t1', HISTORY_OPS.renew, 1_905);
      renewal.result = { renewedAt: at(2_700), expiresAt: at(3_700) };
    },
  },
  'INV-LE5': {
    'work that starts after the trust window': (world) => {
      entry(world, 'worker-1', 1_101, 'invoke', HISTORY_OPS.workStart, L1);
    },
    'trust counted from the answer instead of the question': (world) => {
      answer(world, 'worker-1-t1', HISTORY_OPS.renew, 405).monoNs = monoNs(1_050);
      answer(world, 'worker-1-t1', HISTORY_OPS.renew, 390).monoNs = monoNs(200);
      entry(world, 'worker-1', 1_060, 'invoke', HISTORY_OPS.workStart, L1);
    },
    'work in a process that never claimed': (world) => {
      entry(world, 'worker-9', 1_620, 'invoke', HISTORY_OPS.workStart, K1);
    },
  },
  'INV-LE6': {
    'a reaper that comes too late': (world) => {
      attemptOf(world, 'a1').finishedAtMs = at(1_400 + 200 + 50 + 1);
    },
    'a dead lease that nobody takes': (world) => {
      const row = { runId: 'r3', attemptId: 'a3', leaseId: 'L3', fencingToken: '3' };
      world.leases.push({ ...row, expiresAtMs: world.nowAtMs - 251 });
    },
  },
  'INV-LE7': {
    'a claim of more rows than asked for': (world) => {
      answer(world, 'worker-2', HISTORY_OPS.claim, 1_590).result = { limit: 0 };
    },
    'more leases than slots': (world) => {
      attemptOf(world, 'a3').startedAtMs = at(1_000);
    },
  },
  'INV-LE8': {
    'two versions of a task at once': (world) => {
      const claimed = the(world.runEvents, (event) => event.runId === 'r3' && event.to === 'CLAIMED');
      const rest = world.runEvents.filter((event) => event !== claimed);
      const end = rest.findIndex((event) => event.to === 'SUCCEEDED');
      world.runEvents = [...rest.slice(0, end), claimed, ...rest.slice(end)];
    },
    'two versions of a task at once, where only times tell': (world) => {
      world.eventOrder = 'xid';
      attemptOf(world, 'a3').startedAtMs = at(1_900);
    },
  },
  'INV-ST1': {
    'an illegal step': (world) => {
      for (const event of eventsOf(world, 'r2', 'CANCELLING')) event.to = 'RUNNING';
      for (const event of eventsOf(world, 'r2', 'CANCELLED')) event.from = 'RUNNING';
    },
    'a terminal state that is left again': (world) => {
      world.runEvents.push(...events('r2', 2_900, 'CANCELLED', ['QUEUED']));
      runOf(world, 'r2').status = 'QUEUED';
    },
    'a gap in the chain': (world) => {
      world.runEvents = world.runEvents.filter((event) => event.to !== 'VERIFYING');
    },
    'a row that moved without its event': (world) => {
      runOf(world, 'r3').status = 'SUCCEEDED';
    },
    'a run born in the middle': (world) => {
      world.runs.push(run('r4', 't4', 'v1', { status: 'RUNNING' }));
      world.runEvents.push(...events('r4', 2_900, null, ['RUNNING']));
    },
    'a run without a history': (world) => {
      world.runs.push(run('r4', 't4', 'v1', {}));
    },
  },
  'INV-ST2': {
    'a cancelled run is claimed': (world) => {
      world.runEvents.push(...events('r2', 400, 'CANCELLED', ['CLAIMED']));
    },
    'a cancelled run succeeds': (world) => {
      runOf(world, 'r3').status = 'SUCCEEDED';
    },
    'an intent after the cancel, by database time': (world) => {
      const operation = the(world.operations, () => true);
      world.operations.push({ ...operation, key: 'K3', runId: 'r3', intendedAtMs: at(2_250) });
    },
    'an intent accepted after the cancel was answered': (world) => {
      const held = { run: 'r3', leaseId: 'L3', fencingToken: '3', key: 'K3' };
      entry(world, 'worker-1', 2_220, 'invoke', HISTORY_OPS.intend, held);
      entry(world, 'worker-1', 2_230, 'ok', HISTORY_OPS.intend, held);
    },
    'an attempt that begins after the cancel': (world) => {
      attemptOf(world, 'a3').startedAtMs = at(2_250);
    },
  },
  'INV-ST3': {
    'two reapers take one lease': (world) => {
      answer(world, 'reconciler-2', HISTORY_OPS.reap, 1_512).type = 'ok';
    },
    'one attempt loses its lease twice': (world) => {
      const again = events('r1', 1_580, 'QUEUED', ['STALE_LEASE', 'FAILED_RETRYABLE', 'QUEUED'], {
        attemptNo: 1,
      });
      const index = world.runEvents.findIndex((event) => event.leaseId === 'L2');
      world.runEvents.splice(index, 0, ...again);
    },
    'one expiry is charged twice': (world) => {
      runOf(world, 'r1').failuresLeaseLost = 2;
    },
    'a gap in the attempts': (world) => {
      attemptOf(world, 'a2').number = 3;
    },
  },
  'INV-ST4': {
    'a run left in the middle': (world) => {
      runOf(world, 'r3').status = 'RUNNING';
    },
    'a run left ready': (world) => {
      runOf(world, 'r2').status = 'QUEUED';
      world.queueItems.push({ runId: 'r2', state: 'ready', visibleAtMs: at(0) });
    },
    'a parked run without a reason': (world) => {
      Object.assign(runOf(world, 'r2'), { status: 'WAITING_CAPACITY', reasonCode: null });
    },
  },
  'INV-ST5': {
    'a leased run without a lease': (world) => {
      Object.assign(
        the(world.snapshots[1]?.runs ?? [], (one) => one.runId === 'r1'),
        { hasLease: false },
      );
    },
    'a queued run without an item': (world) => {
      Object.assign(
        the(world.snapshots[0]?.runs ?? [], (one) => one.runId === 'r1'),
        { item: null },
      );
    },
    'an item beside a lease': (world) => {
      Object.assign(
        the(world.snapshots[1]?.runs ?? [], (one) => one.runId === 'r1'),
        { item: 'ready' },
      );
    },
    'a status that is never at rest': (world) => {
      Object.assign(
        the(world.snapshots[0]?.runs ?? [], (one) => one.runId === 'r1'),
        { status: 'STALE_LEASE' },
      );
    },
    'a wait without a name': (world) => {
      Object.assign(
        the(world.snapshots[0]?.runs ?? [], (one) => one.runId === 'r1'),
        {
          status: 'ADMITTED',
          item: null,
          reasonCode: null,
        },
      );
    },
    'a run at the end that is nowhere': (world) => {
      runOf(world, 'r2').status = 'QUEUED';
    },
  },
  'INV-ST6': {
    'an ended run that still holds a lease': (world) => {
      const row = { runId: 'r1', attemptId: 'a2', leaseId: 'L2', fencingToken: '2' };
      world.leases.push({ ...row, expiresAtMs: world.nowAtMs });
    },
    'an ended run that is still queued': (world) => {
      world.queueItems.push({ runId: 'r1', state: 'ready', visibleAtMs: at(0) });
    },
    'an attempt that runs on without a lease': (world) => {
      Object.assign(attemptOf(world, 'a2'), { status: 'running', finishedAtMs: null });
    },
    'a tombstone that missed the end': (world) => {
      the(world.taskVersions, (one) => one.runId === 'r1').outcome = null;
    },
    'an end without a reason': (world) => {
      runOf(world, 'r1').reasonCode = null;
    },
    'an outcome for a run that lives': (world) => {
      runOf(world, 'r1').status = 'QUEUED';
    },
  },
  'INV-EF1': {
    'the effect takes place twice': (world) => {
      the(world.providerLog, (call) => call.seq === 1).visible = true;
    },
    'the same content twice without a key': (world) => {
      const made = the(world.providerLog, (call) => call.seq === 2);
      const comment = { ...made, kind: 'comment', operationKey: null };
      world.providerLog.push({ ...comment, seq: 3 }, { ...comment, seq: 4 });
    },
  },
  'INV-EF2': {
    'a call without an intent': (world) => {
      without(
        world,
        (one) => one.op === HISTORY_OPS.intend && one.type !== 'fail' && one.proc === 'worker-2',
      );
    },
    'a call under another claim’s intent': (world) => {
      const held = { ...K1, leaseId: 'L1', fencingToken: '1' };
      entry(world, 'worker-1', 1_735, 'invoke', HISTORY_OPS.effectCall, held);
    },
    'a call whose fence was not valid just before': (world) => {
      without(world, (one) => one.op === HISTORY_OPS.attempt && one.monoNs === monoNs(1_654));
    },
    'a provider that saw what nobody recorded': (world) => {
      without(world, (one) => one.op === HISTORY_OPS.effectCall);
    },
    'a provider that saw a call without a key': (world) => {
      the(world.providerLog, (call) => call.seq === 1).operationKey = null;
    },
    'an effect that no operation names': (world) => {
      world.operations = [];
    },
  },
  'INV-EF3': {
    'done, and the provider knows nothing': (world) => {
      the(world.providerLog, (call) => call.seq === 2).visible = false;
    },
    'a second call without a read between': (world) => {
      without(world, (one) => one.op === HISTORY_OPS.effectRead);
    },
    'a read that could not read counts for nothing': (world) => {
      answer(world, 'worker-2', HISTORY_OPS.effectRead, 1_710).result = { kind: 'unreadable' };
    },
    'ambiguous for ever': (world) => {
      Object.assign(
        the(world.operations, () => true),
        { state: 'ambiguous' },
      );
      world.nowAtMs = at(20_000);
    },
  },
  'INV-EF4': {
    'a superseded claim goes on calling': (world) => {
      const held = { ...L1, key: 'K1' };
      entry(world, 'worker-1', 1_840, 'invoke', HISTORY_OPS.effectCall, held);
      entry(world, 'worker-1', 1_845, 'fail', HISTORY_OPS.effectCall, held);
      entry(world, 'worker-1', 1_850, 'invoke', HISTORY_OPS.effectCall, held);
    },
    'the one call in flight takes effect again': (world) => {
      entry(world, 'worker-1', 1_840, 'invoke', HISTORY_OPS.effectCall, { ...L1, key: 'K1' });
      the(world.providerLog, (call) => call.seq === 1).visible = true;
    },
  },
  'INV-EF5': {
    'a push overwrites a newer commit': (world) => {
      Object.assign(
        the(world.providerLog, (call) => call.seq === 2),
        {
          compareAndSet: { expected: 'old', before: 'newer' },
        },
      );
    },
  },
  'INV-HI1': {
    'a run ends otherwise': (world) => {
      runOf(world, 'r2').status = 'EXPIRED';
    },
    'work is lost': (world) => {
      world.runs = world.runs.filter((one) => one.id !== 'r2');
    },
    'work appears': (world) => {
      world.runs.push(run('r4', 't4', 'v1', {}));
    },
    'a run waits longer than polling explains': (world) => {
      runOf(world, 'r1').startedAtMs = at(100 + 151);
    },
  },
  'INV-HI2': {
    'a hint makes work by itself': (world) => {
      entry(world, 'worker-1', 95, 'invoke', HISTORY_OPS.workStart, { run: 'r9', leaseId: 'L9' });
    },
    'work under the lease of another run': (world) => {
      entry(world, 'worker-1', 2_120, 'invoke', HISTORY_OPS.workStart, { run: 'r2', leaseId: 'L3' });
    },
  },
  'INV-HI3': {
    'an event that committed late is passed over': (world) => {
      without(world, (one) => (one.result as { eventId?: string } | undefined)?.eventId === 'e000000');
    },
  },
};

describe('the history checker', () => {
  it('finds that every invariant holds in a history in which nothing went wrong', () => {
    const report = check(goodWorld());
    expect(describeReport(report)).toBe('verdict: holds');
  });

  it('finds the same when only the order of transaction numbers is known', () => {
    expect(describeReport(check({ ...goodWorld(), eventOrder: 'xid' }))).toBe('verdict: holds');
  });

  for (const invariant of INVARIANTS) {
    describe(invariant, () => {
      for (const [name, breakIt] of Object.entries(VIOLATIONS[invariant])) {
        it(`${invariant}: turns red by ${name}`, () => {
          const world = goodWorld();
          breakIt(world);
          const report = check(world, [invariant]);
          expect(report.verdict).toBe('violated');
          expect(new Set(report.findings.map((finding) => finding.invariant))).toEqual(new Set([invariant]));
          expect(report.findings.every((finding) => finding.evidence.length > 0)).toBe(true);
        });
      }

      it(`${invariant}: is unknown in a run that never put it to the test`, () => {
        const empty: CheckerInput = {
          ...goodWorld(),
          history: [],
          runs: [],
          attempts: [],
          runEvents: [],
          receipts: [],
          deliveries: [],
          operations: [],
          taskVersions: [],
          workers: [],
          providerLog: [],
          snapshots: [],
          baseline: null,
        };
        const report = check(empty, [invariant]);
        expect(report.verdict).toBe('unknown');
        expect(describeReport(report)).toContain(`${invariant} unknown: the run contained no`);
      });
    });
  }

  it('is unknown as a whole when one invariant was not put to the test, and says what was missing', () => {
    const world = goodWorld();
    without(world, (one) => one.op === HISTORY_OPS.redisFlushed);
    const report = check(world);
    expect(report.verdict).toBe('unknown');
    expect(describeReport(report)).toBe(
      'verdict: unknown\nINV-HI1 unknown: the run contained no redisFlushes',
    );
    expect(report.witnessed['INV-LE2']).toEqual({ verdict: 'holds', counts: { takeoversAfterExpiry: 1 } });
  });

  it('one violation outweighs everything that is unknown', () => {
    const world = goodWorld();
    without(world, (one) => one.op === HISTORY_OPS.redisFlushed);
    the(world.providerLog, (call) => call.seq === 1).visible = true;
    expect(check(world).verdict).toBe('violated');
  });
});

describe('what nobody can know is not held against a run', () => {
  it('INV-LE6: a renewal whose answer was lost may have moved the expiry', () => {
    const world = goodWorld();
    answer(world, 'worker-1-t1', HISTORY_OPS.renew, 405).type = 'info';
    const reap = answer(world, 'reconciler-1', HISTORY_OPS.reap, 1_510);
    reap.result = 'QUEUED';
    attemptOf(world, 'a1').finishedAtMs = at(1_590);
    expect(check(world, ['INV-LE2', 'INV-LE6']).findings).toEqual([]);
  });

  it('INV-LE2: a claim that says when its lease ends is believed, though its attempt was written a moment later', () => {
    const world = goodWorld();
    without(world, (one) => one.op === HISTORY_OPS.renew && one.leaseId === 'L1');
    answer(world, 'worker-1', HISTORY_OPS.claim, 105).result = { acquiredAt: at(99), expiresAt: at(300) };
    answer(world, 'reconciler-1', HISTORY_OPS.reap, 1_510).result = { expiredAt: at(300), reapedAt: at(350) };
    attemptOf(world, 'a1').finishedAtMs = at(350);
    expect(check(world, ['INV-LE2']).verdict).toBe('holds');
  });

  it('INV-LE2: a renewal that recorded no instants leaves the expiry unknown', () => {
    const world = goodWorld();
    answer(world, 'worker-1-t1', HISTORY_OPS.renew, 405).result = {};
    expect(check(world, ['INV-LE2']).verdict).toBe('unknown');
  });

  it('INV-LE3: a worker that died after its commit, before its answer, is no zombie', () => {
    const world = goodWorld();
    without(
      world,
      (one) => one.proc === 'worker-2' && one.op === HISTORY_OPS.finish && one.type !== 'invoke',
    );
    expect(check(world, ['INV-LE3', 'INV-ST6']).verdict).toBe('holds');
  });

  it('INV-LE6: MASS_EXPIRY gives one TTL more', () => {
    const world = goodWorld();
    attemptOf(world, 'a1').finishedAtMs = at(2_500);
    attemptOf(world, 'a2').startedAtMs = at(2_510);
    expect(check(world, ['INV-LE6']).verdict).toBe('violated');
    const graced = { from: null, to: null, type: 'lease.graced', reasonCode: 'MASS_EXPIRY', leaseId: 'L1' };
    const [event] = events('r1', 1_450, null, ['QUEUED'], graced);
    if (event !== undefined) world.runEvents.push({ ...event, from: null, to: null });
    expect(check(world, ['INV-LE6']).verdict).toBe('holds');
  });

  it('INV-IN2: an answer about a run of an earlier version is no second run', () => {
    const world = goodWorld();
    const attached = { ...receipt('rc-attached', runOf(world, 'r3'), 'EXISTING_RUN'), runId: 'r1' };
    world.receipts.push({ ...attached, outcome: 'accept' });
    expect(check(world, ['INV-IN2']).verdict).toBe('holds');
  });

  it('INV-EF3: a call that surely did nothing may be repeated without a read', () => {
    const world = goodWorld();
    without(world, (one) => one.op === HISTORY_OPS.effectRead);
    answer(world, 'worker-2', HISTORY_OPS.effectCall, 1_700).type = 'fail';
    expect(check(world, ['INV-EF3']).findings).toEqual([]);
  });

  it('INV-EF3: the one call that a superseded claim had in flight is no retry', () => {
    const world = goodWorld();
    const zombie = { run: 'r1', leaseId: 'L1', fencingToken: '1', key: 'K1' };
    entry(world, 'worker-1', 1_760, 'invoke', HISTORY_OPS.effectCall, zombie);
    expect(check(world, ['INV-EF3']).findings).toEqual([]);
  });

  it('INV-LE8: two instants closer than the clocks tell prove no overlap', () => {
    const world = { ...goodWorld(), eventOrder: 'xid' as const };
    attemptOf(world, 'a3').startedAtMs = at(1_996);
    expect(check(world, ['INV-LE8']).verdict).toBe('holds');
  });
});
