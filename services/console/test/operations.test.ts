import { formatId, systemIds } from '@headgate/domain';
import type { DeadLetter, Page, Queue, Schedule, Worker } from '@headgate/sdk';
import { schedules, scheduleTicks, workers } from '@headgate/store';
import { claimRun, dispatchRun, runInStatus, seedRun, seedWorker } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { aConsole } from './a-console.js';

describe('what an operator looks at', () => {
  it('Q14: workers, with what they offer and hold', async () => {
    const test = await aConsole();
    const id = await seedWorker(test.store, {
      queueIds: [test.tenant.queueId],
      slots: 3,
      capabilities: { node: '20', network: true, tools: ['git'] },
    });
    await claimRun(test.store, await seedRun(test.store, { tenant: test.tenant }), { workerId: id });
    const gone = await seedWorker(test.store, { queueIds: [] });
    await test.store.service.use((c) => workers.setState(c, gone, 'STOPPED'));
    const { items } = await test.json<Page<Worker>>('/v1/workers');
    expect(items.map((worker) => worker.id)).toEqual([formatId('wkr', gone), formatId('wkr', id)]);
    expect(items[1]).toMatchObject({
      state: 'READY',
      isLive: true,
      slots: 3,
      held: 1,
      queues: ['default'],
      capabilities: { node: '20', network: true, tools: ['git'] },
      stoppedAt: null,
    });
    const stopped = await test.json<Page<Worker>>('/v1/workers?state=STOPPED');
    expect(stopped.items).toMatchObject([{ isLive: false, stoppedAt: expect.any(String) }]);
    const theirs = await test.json<Page<Worker>>('/v1/workers', { token: test.tokens.other });
    expect(theirs.items[1]?.held).toBe(0);
  });

  it('I2: schedules, with their contract, what became of past ticks, and the next times', async () => {
    const test = await aConsole();
    const id = systemIds.next('sch');
    await test.store.service.use(async (c) => {
      await schedules.ensure(c, {
        id,
        tenantId: test.tenant.id,
        route: 'tidy',
        ordinal: 0,
        spec: {
          kind: 'schedule',
          ordinal: 0,
          cron: '0 3 * * 1',
          timezone: 'Europe/Berlin',
          startAt: null,
          endAt: null,
          exclude: [],
          jitterMs: 0,
          pauseOnFailure: false,
          overlap: 'skip',
          catchUp: { mode: 'latest', windowMs: 3_600_000, max: 1 },
        },
        policyVersion: test.tenant.policyVersion,
        nextAt: new Date('2030-01-07T02:00:00Z'),
      });
      await scheduleTicks.record(c, [
        {
          scheduleId: id,
          origin: 'timer',
          nominalAt: new Date('2026-01-05T02:00:00Z'),
          untilAt: new Date('2026-01-19T02:00:00Z'),
          target: '42',
          tenantId: test.tenant.id,
          count: 3,
          bucket: 'missed',
          reasonCode: 'MISSED_CATCHUP',
          receiptId: null,
        },
      ]);
    });
    const { items } = await test.json<Page<Schedule>>('/v1/schedules');
    expect(items).toMatchObject([
      {
        id: formatId('sch', id),
        tenant: 'default',
        route: 'tidy',
        cron: '0 3 * * 1',
        timezone: 'Europe/Berlin',
        overlap: 'skip',
        catchUp: { mode: 'latest', windowMs: 3_600_000, max: 1 },
        state: 'active',
        nextAt: '2030-01-07T02:00:00.000Z',
        recent: [
          { bucket: 'missed', count: 3, reasonCode: 'MISSED_CATCHUP', untilAt: '2026-01-19T02:00:00.000Z' },
        ],
      },
    ]);
    const next = items[0]?.next ?? [];
    expect(next).toHaveLength(10);
    for (const at of next) {
      const local = new Intl.DateTimeFormat('en-GB', {
        timeZone: 'Europe/Berlin',
        weekday: 'short',
        hour: '2-digit',
      });
      expect(local.format(new Date(at))).toBe('Mon, 03');
    }
  });

  it('Q21: queues, with what waits, runs and serves in each', async () => {
    const test = await aConsole();
    await runInStatus(test.store, 'RUNNING', { tenant: test.tenant });
    await runInStatus(test.store, 'WAITING_CAPACITY', { tenant: test.tenant });
    await dispatchRun(test.store, await seedRun(test.store, { tenant: test.tenant }));
    await seedRun(test.store, { tenant: test.tenant });
    await seedRun(test.store, { tenant: test.other });
    const { items } = await test.json<Page<Queue>>('/v1/queues');
    expect(items).toMatchObject([
      {
        id: 'default',
        ready: 2,
        delayed: 1,
        dispatched: 1,
        running: 1,
        liveWorkers: 1,
        slots: 10,
        hints: null,
      },
    ]);
    expect(items[0]?.oldestReadyAt).not.toBeNull();
    const theirs = await test.json<Page<Queue>>('/v1/queues', { token: test.tokens.other });
    expect(theirs.items).toMatchObject([{ ready: 1, delayed: 0, dispatched: 0, running: 0 }]);
  });

  it('I13: dead letters, with evidence, by whether they are resolved', async () => {
    const test = await aConsole();
    const run = await runInStatus(test.store, 'FAILED', { tenant: test.tenant });
    await test.store.service.use((c) =>
      c.query(
        `insert into headgate.dead_letter (id, tenant_id, run_id, reason_code, evidence)
         values (headgate.uuid7(), $1, $2, 'SETUP_FAILED', '{"attempts": [1]}')
         on conflict (run_id) do update set evidence = excluded.evidence`,
        [test.tenant.id, run.runId],
      ),
    );
    const { items } = await test.json<Page<DeadLetter>>('/v1/dead-letters?resolved=false');
    expect(items).toMatchObject([
      {
        runId: formatId('run', run.runId),
        taskId: formatId('task', run.taskId),
        reasonCode: 'SETUP_FAILED',
        message: 'A set-up command failed. npm ci',
        evidence: { attempts: [1] },
        owner: null,
        resolvedAt: null,
      },
    ]);
    expect((await test.json<Page<DeadLetter>>('/v1/dead-letters?resolved=true')).items).toEqual([]);
    expect((await test.ask('/v1/dead-letters?resolved=maybe')).status).toBe(400);
  });
});
