import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LeaseTiming, type RunId, systemClock, type WorkerId } from '@headgate/domain';
import { identify, isAlive, MARKER_VARIABLE, type SandboxIdentity } from '@headgate/runtimes';
import { cancelRun } from '@headgate/store';
import { createLogger, waitForSignal } from '@headgate/telemetry';
import {
  atEnd,
  claimRun,
  eventually,
  expireLease,
  type FaultProxy,
  faultProxy,
  removeDataFolder,
  seedRun,
  seedTenant,
  seedWorker,
  type TestStore,
  temporaryDataFolder,
  testStore,
} from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import type { HeldLease } from '../src/keeper/held-lease.js';
import { LeaseKeeper } from '../src/keeper/keeper.js';
import { keeperThreadEntry } from '../src/keeper/thread-entry.js';

/** A beat may be more than two seconds late before trust is lost: a busy machine is not what these tests are about. */
const TIMING: LeaseTiming = { ttlMs: 5_000, heartbeatMs: 300, renewDeadlineMs: 3_200, stopMarginMs: 1_800 };
/** Where the lease must run out while the test sits and waits. */
const SHORT: LeaseTiming = { ttlMs: 2_400, heartbeatMs: 300, renewDeadlineMs: 1_400, stopMarginMs: 1_000 };

interface Kept {
  readonly db: TestStore;
  readonly keeper: LeaseKeeper;
  readonly lease: HeldLease;
  readonly runId: RunId;
  readonly workerId: WorkerId;
}

async function kept(
  options: {
    readonly url?: (serviceUrl: string) => Promise<string>;
    readonly threadEntry?: () => string;
    readonly timing?: LeaseTiming;
  } = {},
): Promise<Kept> {
  const { timing = TIMING } = options;
  const db = await testStore();
  const tenant = await seedTenant(db);
  const workerId = await seedWorker(db, { queueIds: [tenant.queueId] });
  const keeper = new LeaseKeeper(
    {
      serviceUrl: (await options.url?.(db.urls.serviceUrl)) ?? db.urls.serviceUrl,
      poolMode: 'session',
      clock: systemClock,
      logger: createLogger('test', { level: 'silent' }),
      onWorkerState: () => {},
      ...(options.threadEntry === undefined ? {} : { threadEntry: options.threadEntry }),
    },
    timing,
  );
  atEnd(() => keeper.stop());
  keeper.start();
  await keeper.ready();
  keeper.setWorker(workerId);
  // The first session is opened before the lease is taken: its time is short.
  await waitForSignal('worker.beat', (beat) => beat['workerState'] === 'READY');
  const run = await seedRun(db, { tenant });
  const askedAtMs = systemClock.monotonicMs();
  const { fence } = await claimRun(db, run, { workerId, ttlMs: timing.ttlMs });
  return { db, keeper, lease: keeper.hold(fence, askedAtMs), runId: run.runId, workerId };
}

const beatAnswered = (answer: string) =>
  waitForSignal('worker.beat', (beat) => (beat['answers'] as Record<string, number>)[answer] === 1);

/** A process that goes on until it is killed. */
function sandbox(): { readonly identity: SandboxIdentity; readonly child: ChildProcess } {
  const marker = `keeper-test-${process.pid}-${Math.random()}`;
  const child = spawn('/bin/sleep', ['600'], { env: { [MARKER_VARIABLE]: marker }, stdio: 'ignore' });
  atEnd(() => void child.kill('SIGKILL'));
  const found = child.pid === undefined ? null : identify(child.pid);
  if (found === null) throw new Error('sleep did not start');
  return { identity: { provider: 'test', marker, processes: [found] }, child };
}

const hasEnded = ({ processes }: SandboxIdentity): boolean => processes.every((one) => !isAlive(one));

const expiry = async (db: TestStore, runId: RunId): Promise<number> => {
  const [row] = await db.service.use((c) =>
    c.query<{ left: number }>(
      'select extract(epoch from expires_at - clock_timestamp())::float8 * 1000 as left from headgate.lease where run_id = $1',
      [runId],
    ),
  );
  return row?.left ?? Number.NaN;
};

describe('the lease keeper', () => {
  it('Q15: keeps a lease beyond its TTL, for as long as the worker turns', async () => {
    const { db, lease, runId } = await kept();
    const untilMs = systemClock.monotonicMs() + 1.1 * TIMING.ttlMs;
    await eventually(() => systemClock.monotonicMs() > untilMs, { what: 'more than a TTL has passed' });
    expect(lease.stop).toBeNull();
    expect(await expiry(db, runId)).toBeGreaterThan(0);
  });

  it('Q5: control: the heartbeat’s answer carries the cancel', async () => {
    const { db, keeper, lease, runId } = await kept();
    await cancelRun(db.service, runId, { actor: 'mona', reason: null });
    keeper.beatNow();
    await eventually(() => lease.stop, { what: 'the lease says stop' });
    expect(lease.stop).toEqual({ kind: 'cancel' });
  });

  it('busy: a locked row is passed over and asked about again, at no cost', async () => {
    const { db, lease, runId } = await kept();
    await db.service.transaction(async (c) => {
      await c.query('select 1 from headgate.lease where run_id = $1 for update', [runId]);
      await beatAnswered('busy');
    });
    await beatAnswered('renewed');
    expect(lease.stop).toBeNull();
  });

  it('expired: nothing starts while the row stands expired, and the trust that is left ends by itself', async () => {
    const { db, lease, runId } = await kept();
    const expired = beatAnswered('expired');
    await expireLease(db, runId);
    await expired;
    expect(await lease.settled()).toEqual({ kind: 'gone', why: 'trust-lost' });
  });

  it('lost: a lease that is gone ends at once, and the sandbox that goes with it', async () => {
    const { db, keeper, lease, runId } = await kept();
    const { identity } = sandbox();
    keeper.sandbox(lease, identity);
    await db.service.use((c) => c.query('delete from headgate.lease where run_id = $1', [runId]));
    await eventually(() => lease.isGone && hasEnded(identity), { what: 'lease and sandbox are gone' });
    expect(lease.stop).toEqual({ kind: 'gone', why: 'lost' });
  });

  it('INV-LE5: a main loop blocked for two TTLs is not renewed for, and its sandbox is killed meanwhile', async () => {
    const { db, keeper, lease, runId } = await kept({ timing: SHORT });
    const { identity } = sandbox();
    keeper.sandbox(lease, identity);
    await beatAnswered('renewed');

    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * SHORT.ttlMs);

    // Asked in the same turn in which the loop wakes up: nobody but the thread can have done it.
    expect(hasEnded(identity)).toBe(true);
    expect(lease.isGone).toBe(true);
    expect(await expiry(db, runId)).toBeLessThan(0);
  });

  it('Q15: Postgres out of reach: trust ends before the TTL, and the sandbox with it', async () => {
    const proxies: FaultProxy[] = [];
    const { keeper, lease } = await kept({
      url: async (url) => {
        const { hostname: host, port } = new URL(url);
        const proxy = await faultProxy({ host, port: Number(port) });
        proxies.push(proxy);
        return proxy.through(url);
      },
    });
    const { identity } = sandbox();
    keeper.sandbox(lease, identity);
    await beatAnswered('renewed');
    const cutAtMs = systemClock.monotonicMs();
    for (const proxy of proxies) proxy.blackhole();
    await eventually(() => lease.isGone && hasEnded(identity), { what: 'trust has ended' });
    expect(lease.stop).toEqual({ kind: 'gone', why: 'trust-lost' });
    expect(systemClock.monotonicMs() - cutAtMs).toBeLessThan(TIMING.ttlMs);
    for (const proxy of proxies) proxy.heal();
  });

  it('a keeper thread that dies is replaced, and the leases are kept on', async () => {
    const folder = temporaryDataFolder();
    atEnd(() => removeDataFolder(folder));
    const brokenThread = join(folder, 'broken.mjs');
    writeFileSync(brokenThread, 'process.exit(3);\n');
    let starts = 0;
    const { lease } = await kept({
      threadEntry: () => {
        starts += 1;
        return starts === 1 ? brokenThread : keeperThreadEntry();
      },
    });
    await beatAnswered('renewed');
    expect(starts).toBe(2);
    expect(lease.stop).toBeNull();
  });
});
