/** The service around the jobs: its catalogue, its loops, its start and stop, its gauges. */
import { REASON_CODES } from '@headgate/domain';
import type { TickResult } from '@headgate/service';
import { placementViolations } from '@headgate/store';
import { metricsText } from '@headgate/telemetry';
import { aPolicy, atEnd, claimRun, eventually, runInStatus, seedRun } from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { createReconciler, JOBS, type Job, ReconcilerTimingError } from '../src/index.js';
import { RECONCILER_TIMING, reapPeriodMs } from '../src/timing.js';
import { aWorld } from './world.js';

const lease = (ttlMs: number) => ({
  ttlMs,
  heartbeatMs: ttlMs / 4,
  renewDeadlineMs: ttlMs / 2,
  stopMarginMs: ttlMs / 4,
});

describe('the catalogue', () => {
  test('every job has a name of its own, a bound, a sentence, and reason codes that exist', () => {
    expect(new Set(JOBS.map((job) => job.name)).size).toBe(JOBS.length);
    for (const job of JOBS) {
      expect(job.limit, job.name).toBeGreaterThan(0);
      expect(job.repairs, job.name).toMatch(/\.$/);
      for (const code of job.reasonCodes) expect(REASON_CODES, job.name).toContain(code);
    }
  });

  test('each repair code of the catalogue of reasons is some job’s', () => {
    const codes = REASON_CODES.filter((code) => code.startsWith('REPAIR_'));
    expect([...new Set(JOBS.flatMap((job) => job.reasonCodes))]).toEqual(expect.arrayContaining([...codes]));
  });
});

describe('timing', () => {
  test('the reaper looks every 5 s, and three times in a short lease', () => {
    expect(reapPeriodMs(RECONCILER_TIMING, lease(60_000))).toBe(5_000);
    expect(reapPeriodMs(RECONCILER_TIMING, lease(12_000))).toBe(4_000);
    expect(reapPeriodMs(RECONCILER_TIMING, lease(600))).toBe(200);
  });

  test('a reaper that is too slow for the leases is refused at the start', async () => {
    const world = await aWorld({ policy: aPolicy({ lease: lease(2_000) }) });
    expect(() => createReconciler(world.context, { timing: { reapMs: 1_001 } })).toThrow(
      ReconcilerTimingError,
    );
    expect(() => createReconciler(world.context, { timing: { reapMs: 1_000 } })).not.toThrow();
  });
});

describe('the service', () => {
  test('Q27: two of them repair by themselves what was broken, and stop cleanly however often they are told', async () => {
    const world = await aWorld({ policy: aPolicy({ lease: lease(2_000) }) });
    const services = [1, 2].map(() => createReconciler(world.context, { timing: { repairMs: 50 } }));
    atEnd(() => Promise.all(services.map((service) => service.stop())).then(() => {}));
    const run = await runInStatus(world.db, 'RUNNING', { tenant: world.tenant });
    const lost = await seedRun(world.db, { tenant: world.tenant });
    await claimRun(world.db, lost, { ttlMs: 100 });
    await world.rows('delete from headgate.lease where run_id = $1', [run.runId]);
    for (const service of services) {
      await service.start();
      await service.start();
      await service.ready();
    }
    await eventually(
      async () =>
        (await world.rows('select 1 from headgate.lease')).length === 0 && (await world.repairs()).length > 0,
      { what: 'the lease is reaped and the run is repaired', deadlineMs: 20_000 },
    );
    for (const service of services) {
      await service.drain();
      await service.stop();
      await service.stop();
    }
    expect(await world.repairs()).toMatchObject([
      { reasonCode: 'REPAIR_RUN_WITHOUT_LEASE', runId: run.runId },
    ]);
    expect(await world.db.service.use((c) => placementViolations(c))).toEqual([]);
    await services[0]?.start();
    await services[0]?.ready();
  });

  test('a job that fails is counted and tried again, and stops no other', async () => {
    const world = await aWorld();
    const ticks = { bad: 0, good: 0 };
    const job = (name: string, tick: () => Promise<TickResult>): Job => ({
      name,
      repairs: 'Nothing.',
      reasonCodes: [],
      period: 'repair',
      limit: 1,
      make: () => tick,
    });
    const service = createReconciler(world.context, {
      timing: { repairMs: 10 },
      jobs: [
        job('bad', async () => {
          ticks.bad += 1;
          throw new Error('it never works');
        }),
        job('good', async () => {
          ticks.good += 1;
          return 'idle';
        }),
      ],
    });
    atEnd(() => service.stop());
    await service.start();
    await eventually(() => ticks.bad >= 2 && ticks.good >= 3, { what: 'both go on' });
    expect(await metricsText()).toMatch(/headgate_job_failure_count\w*\{job="bad"\} [1-9]/);
  });

  test('Q32: leases, workers, their lag and operations are there to be scraped while it runs, and not after', async () => {
    const world = await aWorld();
    await claimRun(world.db, await seedRun(world.db, { tenant: world.tenant }));
    const service = createReconciler(world.context, { jobs: [] });
    await service.start();
    const text = await metricsText();
    expect(text).toMatch(/^scheduler_lease_active_count\w* 1$/m);
    expect(text).toMatch(/^scheduler_worker_active_count\w* 1$/m);
    expect(text).toMatch(/^scheduler_worker_heartbeat_lag_seconds\w* [0-9.e-]+$/m);
    expect(text).toMatch(/^headgate_operation_ambiguous_oldest_age_seconds\w* 0$/m);
    await service.stop();
    expect(await metricsText()).not.toMatch(/^scheduler_lease_active_count\w* 1$/m);
  });
});
