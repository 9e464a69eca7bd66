import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { formatId, type WorkerId } from '@headgate/domain';
import { workers } from '@headgate/store';
import { armFailPoint, waitForSignal } from '@headgate/telemetry';
import {
  atEnd,
  describeWithTool,
  eventually,
  type FaultProxy,
  faultProxy,
  testRedis,
} from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { createWorker } from '../src/index.js';
import {
  contextFor,
  eventsOf,
  exampleAgent,
  rowsOf,
  stillRunning,
  type Workshop,
  workshop,
} from './workshop.js';

const workerStates = async (shop: Workshop) =>
  (await rowsOf<{ state: string }>(shop, 'select state from headgate.worker order by registered_at')).map(
    (row) => row.state,
  );

const proxyTo = (url: string): Promise<FaultProxy> => {
  const { hostname: host, port } = new URL(url);
  return faultProxy({ host, port: Number(port) });
};

async function secondsOf(work: Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work;
  return (performance.now() - startedMs) / 1000;
}

describe('Q24: drain', () => {
  it('lets a run finish within its grace, takes nothing new meanwhile, and ends STOPPED', async () => {
    const shop = await workshop({ env: { HEADGATE_EXAMPLE_SLEEP_MS: '500' } });
    const worker = await shop.worker({ graceMs: 30_000 });
    const started = waitForSignal('worker.agent.started');
    const run = await shop.offer();
    await started;
    const draining = worker.drain();
    const late = await shop.offer();
    await draining;
    expect((await shop.status(run.runId)).status).toBe('SUCCEEDED');
    expect((await shop.status(late.runId)).status).toBe('QUEUED');
    expect(await workerStates(shop)).toEqual(['STOPPED']);
  }, 60_000);

  it('hands back what does not finish: stopped, uncharged, ready at once, its workspace gone', async () => {
    const shop = await workshop();
    const worker = await shop.worker({ graceMs: 100 });
    const started = waitForSignal('worker.agent.started');
    const run = await shop.offer({ agent: exampleAgent({ HEADGATE_EXAMPLE_MODE: 'hang' }) });
    const { pids } = await started;
    await worker.drain();
    expect(stillRunning(pids)).toEqual([]);
    const [row] = await rowsOf<Record<string, unknown>>(
      shop,
      `select r.status, q.state, a.status as attempt, a.reason_code as reason,
              r.failures_application + r.failures_infrastructure + r.failures_lease_lost as failures,
              (select count(*)::int from headgate.lease) as leases
         from headgate.run r join headgate.queue_item q on q.run_id = r.id join headgate.attempt a on a.run_id = r.id
        where r.id = $1`,
      [run.runId],
    );
    expect(row).toEqual({
      status: 'QUEUED',
      state: 'ready',
      attempt: 'released',
      reason: 'WORKER_DRAINED',
      failures: 0,
      leases: 0,
    });
    expect(await workerStates(shop)).toEqual(['STOPPED']);
    const left = join(shop.dataDir, 'workspaces', formatId('run', run.runId));
    expect(existsSync(left) ? readdirSync(left) : []).toEqual([]);
  }, 60_000);

  it('keeps a sealed result: the next worker pushes it and starts no agent', async () => {
    const shop = await workshop();
    const worker = await shop.worker({ graceMs: 50 });
    const held = armFailPoint('worker.sealed', 'hold@1');
    atEnd(() => held.disarm());
    const run = await shop.offer();
    await held.reached;
    const handedBack = waitForSignal('worker.handedBack');
    const draining = worker.drain();
    // Its grace is over then: the attempt finds that it has to go.
    await handedBack;
    held.release();
    await draining;
    expect((await shop.status(run.runId)).status).toBe('QUEUED');
    expect(await shop.repository.pushes()).toEqual([]);

    const next = await createWorker(shop.context, { timing: { pollMs: 50 }, settleMs: 200 });
    atEnd(() => next.stop());
    await next.start();
    await shop.dispatch(run);
    await shop.reaches(run.runId, 'SUCCEEDED');
    expect((await eventsOf(shop, run.runId)).filter((type) => type === 'run.running')).toHaveLength(1);
    expect(await shop.repository.pushes()).toHaveLength(1);
  }, 90_000);

  it('begins when an operator sets the worker DRAINING', async () => {
    const shop = await workshop();
    const registered = waitForSignal('worker.registered');
    await shop.worker({ graceMs: 100 });
    const { workerId } = await registered;
    await shop.db.service.use((c) => workers.setState(c, workerId as WorkerId, 'DRAINING'));
    await eventually(async () => (await workerStates(shop))[0] === 'STOPPED' || null, {
      what: 'the worker has stopped',
      deadlineMs: 20_000,
    });
  }, 60_000);

  it('all four verbs may be called in any order and again', async () => {
    const shop = await workshop();
    const worker = await createWorker(shop.context, { graceMs: 50 });
    await worker.drain();
    await worker.stop();
    await worker.start();
    await worker.ready();
    await worker.stop();
    expect(await workerStates(shop)).toEqual([]);

    const other = await shop.worker({ graceMs: 50 });
    await other.start();
    await Promise.all([other.drain(), other.drain()]);
    await Promise.all([other.stop(), other.stop(), other.drain()]);
    expect(await workerStates(shop)).toEqual(['STOPPED']);
  }, 60_000);
});

describe('stop is bounded', () => {
  it('with Postgres gone while an agent works: in seconds, and nothing is left running', async () => {
    const shop = await workshop();
    const proxy = await proxyTo(shop.db.urls.serviceUrl);
    const context = contextFor(shop.db, shop.dataDir, { serviceUrl: (url) => proxy.through(url) });
    await context.policy.refresh();
    const worker = await createWorker(context, { timing: { pollMs: 50 } });
    await worker.start();
    await worker.ready();
    const started = waitForSignal('worker.agent.started');
    await shop.offer({ agent: exampleAgent({ HEADGATE_EXAMPLE_MODE: 'hang' }) });
    const { pids } = await started;
    proxy.blackhole();
    expect(await secondsOf(worker.stop())).toBeLessThan(20);
    expect(stillRunning(pids)).toEqual([]);
    expect(await secondsOf(context.close())).toBeLessThan(15);
    proxy.heal();
  }, 90_000);
});

describeWithTool('redis', 'without Redis', () => {
  it('a worker whose Redis has frozen goes on by polling, and stops in time', async () => {
    const redis = await testRedis();
    const proxy = await proxyTo(redis.url);
    const shop = await workshop({ redis: { url: proxy.through(redis.url), prefix: redis.prefix } });
    await eventually(() => shop.context.bus.health().state === 'healthy', { what: 'hints are healthy' });
    const worker = await shop.worker({ graceMs: 50 });
    proxy.blackhole();
    const run = await shop.offer();
    await shop.reaches(run.runId, 'SUCCEEDED', 40_000);
    expect(await secondsOf(worker.stop())).toBeLessThan(20);
    proxy.heal();
  }, 90_000);
});
