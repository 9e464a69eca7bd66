import { createIntake } from '@headgate/intake';
import { createScheduler } from '@headgate/scheduler';
import { Connection } from '@headgate/store';
import { metricsText, waitForSignal } from '@headgate/telemetry';
import { describeWithTool, eventually, testRedis } from '@headgate/testkit';
import { describe, expect, it, vi } from 'vitest';
import { aContext, served } from '../../../test/world/service.js';
import { anotherTarget, submissionOf } from '../../../test/world/signals.js';
import { anAdmission, aWorker, aWorld, type World } from '../../../test/world/world.js';

const dispatchNumbers = async (world: World): Promise<number[]> =>
  (
    await world.sql<{ dispatch_no: number }>(
      "select dispatch_no from headgate.queue_item where state = 'dispatched' order by run_id",
    )
  ).map((item) => item.dispatch_no);

async function aScheduler(world: World): Promise<void> {
  await served(createScheduler(await aContext(world)));
}

describe('the scheduler', () => {
  it('Q26: finds work that nobody told it of', async () => {
    const world = await aWorld();
    await aWorker(world, 5);
    await aScheduler(world);
    await anAdmission(world).admission.submit(submissionOf());
    await eventually(async () => (await dispatchNumbers(world)).length === 1, {
      what: 'the run is dispatched',
    });
    expect(await dispatchNumbers(world)).toEqual([1]);
  });

  it('Q26: promotes what is due: a deferred signal, a delayed item', async () => {
    const world = await aWorld();
    await aWorker(world, 5);
    const { admission } = anAdmission(world);
    await admission.submit(
      submissionOf(anotherTarget(1), {
        verdict: {
          outcome: 'defer',
          reasonCode: 'SOURCE_UNAVAILABLE',
          detail: null,
          retryAfter: new Date(0),
        },
      }),
    );
    await admission.submit(submissionOf(anotherTarget(2)));
    await world.sql(
      "update headgate.queue_item set state = 'delayed', waits = 'backoff', visible_at = now()",
    );
    await aScheduler(world);
    await eventually(async () => (await dispatchNumbers(world)).length === 2, {
      what: 'both runs are dispatched',
    });
    expect(await world.sql('select 1 from headgate.deferred_signal')).toEqual([]);
  });

  it('Q23: two schedulers and two intakes at once: no deadlock, no run dispatched twice', async () => {
    const world = await aWorld();
    await aWorker(world, 500);
    await aScheduler(world);
    await aScheduler(world);
    const intakes = [anAdmission(world), anAdmission(world)];
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, at) =>
        intakes[at % 2]?.admission.submit(submissionOf(anotherTarget(at % 120))),
      ),
    );
    const admitted = answers.filter((answer) => answer?.reasonCode === 'ADMITTED');
    expect(admitted).toHaveLength(120);
    await eventually(async () => (await dispatchNumbers(world)).length === 120, {
      what: 'all runs are dispatched',
      deadlineMs: 20_000,
    });
    expect(new Set(await dispatchNumbers(world))).toEqual(new Set([1]));
    const events = await world.sql<{ events: number }>(
      'select count(*)::int as events from headgate.run_event group by run_id',
    );
    expect(new Set(events.map((row) => row.events))).toEqual(new Set([2]));
  }, 60_000);

  it('Q7: takes up a new policy without being told', async () => {
    const world = await aWorld();
    await aWorker(world, 5);
    await aScheduler(world);
    const { policy } = world.active;
    const next = await world.activate({
      ...policy,
      digest: 'next',
      limits: { ...policy.limits, maxActive: 1 },
    });
    const { admission } = anAdmission(world, () => next);
    await Promise.all([1, 2, 3].map((n) => admission.submit(submissionOf(anotherTarget(n)))));
    await eventually(async () => (await dispatchNumbers(world)).length > 0, {
      what: 'one run is dispatched',
    });
    await waitForSignal('scheduler.ticked');
    expect(await dispatchNumbers(world)).toEqual([1]);
  });

  it('an idle system is asked at most five statements a second, by scheduler and intake together', async () => {
    const world = await aWorld();
    await aWorker(world, 5);
    const context = await aContext(world);
    await served(createScheduler(context));
    await served(createIntake(context, { env: {} }));
    await waitForSignal('scheduler.ticked');
    const spies = [
      vi.spyOn(Connection.prototype, 'run'),
      vi.spyOn(Connection.prototype, 'count'),
      vi.spyOn(Connection.prototype, 'query'),
    ];
    const startedAt = performance.now();
    for (let tick = 0; tick < 4; tick += 1) await waitForSignal('scheduler.ticked');
    const seconds = (performance.now() - startedAt) / 1_000;
    const statements = spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
    for (const spy of spies) spy.mockRestore();
    expect(statements / seconds).toBeLessThan(5);
  });

  it('Q32: shows depth and age of each queue when it is scraped', async () => {
    const world = await aWorld();
    await aScheduler(world);
    await anAdmission(world).admission.submit(submissionOf());
    await world.sql("update headgate.queue_item set enqueued_at = now() - interval '100 s'");
    const lines = (
      await eventually(
        async () => {
          const text = await metricsText();
          return text.includes('scheduler_queue_depth{') ? text : null;
        },
        { what: 'the queue is shown' },
      )
    ).split('\n');
    expect(lines.find((line) => line.startsWith('scheduler_queue_depth{'))).toMatch(
      /queue_name="default".*state="ready".* 1$|state="ready".*queue_name="default".* 1$/,
    );
    const age = lines.find((line) => line.startsWith('scheduler_queue_oldest_ready_age_seconds{'));
    expect(Number(age?.split(' ').at(-1))).toBeGreaterThan(99);
  });

  it('Q37: starts and stops in any order, as often as one likes', async () => {
    const world = await aWorld();
    const scheduler = createScheduler(await aContext(world));
    await scheduler.stop();
    await scheduler.start();
    await scheduler.start();
    await scheduler.ready();
    await scheduler.drain();
    await scheduler.start();
    await aWorker(world, 1);
    await anAdmission(world).admission.submit(submissionOf());
    await eventually(async () => (await dispatchNumbers(world)).length === 1, { what: 'it works again' });
    await scheduler.stop();
    await scheduler.stop();
  });
});

describeWithTool('redis', 'wake-ups', () => {
  it('Q26: work admitted by another process is dispatched at once', async () => {
    const world = await aWorld();
    await aWorker(world, 5);
    const redis = await testRedis();
    const change = { redisUrl: redis.url, hintPrefix: redis.prefix };
    const listening = await aContext(world, change);
    await served(createScheduler(listening));
    const { bus } = await aContext(world, change);
    await eventually(() => listening.bus.health().state === 'healthy' && bus.health().state === 'healthy', {
      what: 'both buses are connected',
    });
    await waitForSignal('scheduler.ticked');
    const heard = waitForSignal('scheduler.ticked', (detail) => detail['dispatched'] === 1);
    await anAdmission(world).admission.submit(submissionOf());
    await bus.wake('ready', { tenantId: world.tenantId, queue: 'default' });
    await heard;
    expect(await dispatchNumbers(world)).toEqual([1]);
  });
});
