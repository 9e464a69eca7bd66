/** *Why* of what makes work by itself, from stored facts. */
import { formatId, type ScheduleSpec, systemIds } from '@headgate/domain';
import type { Explanation } from '@headgate/sdk';
import { goals, schedules, scheduleTicks } from '@headgate/store';
import { expect, it } from 'vitest';
import { aConsole, type TestConsole } from './a-console.js';
import { admitted } from './seeds.js';

const SPEC: ScheduleSpec = {
  ...{ kind: 'schedule', ordinal: 0, cron: '@every 1h', timezone: 'UTC', startAt: null, endAt: null },
  ...{ exclude: [], jitterMs: 0, pauseOnFailure: false, overlap: 'skip' },
  catchUp: { mode: 'none', windowMs: 0, max: 1 },
};
const HOUR_MS = 3_600_000;

const why = (test: TestConsole, ref: string, token = test.tokens.admin): Promise<Explanation> =>
  test.json(`/v1/explain?ref=${encodeURIComponent(ref)}`, { token });

async function aSchedule(test: TestConsole) {
  const id = systemIds.next('sch');
  const { id: tenantId, policyVersion } = test.tenant;
  const nextAt = new Date(Date.now() + HOUR_MS);
  await test.store.service.use((c) =>
    schedules.ensure(c, { id, tenantId, route: 'tidy', ordinal: 0, spec: SPEC, policyVersion, nextAt }),
  );
  return { id, ref: formatId('sch', id), nextAt };
}

it('I17: a schedule tells its last decisions, the run that waits for one of them, and its next time', async () => {
  const test = await aConsole();
  const { id, ref, nextAt } = await aSchedule(test);
  const run = await admitted(test);
  const firedAt = new Date(Date.now() - HOUR_MS);
  const missedAt = new Date(Date.now() - 3 * HOUR_MS);
  const tick = { scheduleId: id, origin: 'timer', target: '', tenantId: test.tenant.id } as const;
  await test.store.service.use((c) =>
    scheduleTicks.record(c, [
      {
        ...{ ...tick, nominalAt: missedAt, untilAt: new Date(Date.now() - 2 * HOUR_MS), count: 2 },
        ...{ bucket: 'missed', reasonCode: 'MISSED_CATCHUP', receiptId: null },
      },
      {
        ...{ ...tick, nominalAt: firedAt, untilAt: firedAt, count: 1 },
        ...{ bucket: 'fired', reasonCode: 'ADMITTED', receiptId: run.receiptId },
      },
    ]),
  );

  const told = await why(test, ref);

  expect(told).toMatchObject({ kind: 'schedule', ref });
  expect(told.summary).toContain(`its next time is ${nextAt.toISOString()} (in `);
  expect(told.summary).toContain(`fired (ADMITTED).`);
  expect(told.summary).toContain(`${formatId('run', run.runId)} (fix-failing-check, generation 1) waits`);
  expect(told.waiting?.reasonCode).toBe('NO_CAPABLE_WORKER');
  expect(told.steps).toMatchObject([
    { type: 'schedule.missed', reasonCode: 'MISSED_CATCHUP', count: 2 },
    { type: 'receipt.decision', reasonCode: 'ADMITTED', runId: formatId('run', run.runId) },
  ]);
});

it('I17: a paused schedule says who paused it; one of another tenant is not known', async () => {
  const test = await aConsole();
  const { ref } = await aSchedule(test);
  await test.json(`/v1/schedules/${ref}/pause`, { method: 'POST', body: { note: 'release week' } });
  expect((await why(test, ref)).summary).toMatch(/is paused since .+ by token:admin, "release week"/);
  expect((await why(test, ref, test.tokens.other)).kind).toBe('none');
  expect((await why(test, formatId('sch', systemIds.next('sch')))).kind).toBe('none');
});

it('I17: a goal tells its looks, how far it is and when it is looked at again', async () => {
  const test = await aConsole();
  const id = systemIds.next('goal');
  const { id: tenantId, policyVersion } = test.tenant;
  const run = await admitted(test);
  const nextAt = new Date(Date.now() + 60_000);
  await test.store.service.use(async (c) => {
    await goals.ensure(c, {
      ...{ id, tenantId, route: 'fix-failing-check', ordinal: 0, target: 'git:x', repository: 'acme/api' },
      policyVersion,
      spec: {
        ...{ kind: 'goal', ordinal: 0, cadence: '@every 1m', timezone: 'UTC' },
        observe: { kind: 'command', command: 'true', timeoutMs: 1_000 },
        until: { source: 'observation.exitCode == 0' },
        stop: { maxRuns: 3, deadlineMs: 3_600_000, noProgress: 3, maxCostUsd: null },
      },
    });
    await c.query('update headgate.goal set next_at = $2, runs = 1 where id = $1', [id, nextAt]);
    await c.query(
      `insert into headgate.observation (id, goal_id, tenant_id, epoch, number, run_id, outcome, detail, receipt_id)
       values ($1, $2, $3, 1, 1, $4, 'open', 'two are left', $5)`,
      [systemIds.next('obs'), id, tenantId, run.runId, run.receiptId],
    );
  });

  const told = await why(test, formatId('goal', id));

  expect(told).toMatchObject({ kind: 'goal', waiting: { reasonCode: 'NO_CAPABLE_WORKER' } });
  expect(told.summary).toContain(`the next look is ${nextAt.toISOString()} (in `);
  expect(told.summary).toContain('Look 1: the condition is not met ("two are left")');
  expect(told.summary).toContain('So far 1 of 3 runs.');
  expect(told.steps).toMatchObject([
    { type: 'goal.observed', runId: formatId('run', run.runId) },
    { type: 'receipt.decision', runId: formatId('run', run.runId) },
  ]);
});
