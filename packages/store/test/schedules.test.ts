import { systemIds } from '@headgate/domain';
import { schedules, scheduleTicks } from '@headgate/store';
import { seedTenant, testStore } from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { rows } from './rows.js';

describe('schedules', () => {
  const spec = {
    kind: 'schedule',
    ordinal: 0,
    cron: '@every 20s',
    timezone: 'UTC',
    startAt: null,
    endAt: null,
    exclude: [],
    jitterMs: 0,
    pauseOnFailure: false,
    overlap: 'skip',
    catchUp: { mode: 'none', windowMs: 0, max: 0 },
  } as const;

  test('a due schedule is held by one ticker; a second one passes it over, and sees what the first one wrote', async () => {
    const db = await testStore();
    const { id: tenantId, policyVersion } = await seedTenant(db);
    const id = systemIds.next('sch');
    const past = new Date('2026-01-01T00:00:00Z');
    await db.service.use((c) =>
      schedules.ensure(c, { id, tenantId, route: 'tidy', ordinal: 0, spec, policyVersion, nextAt: past }),
    );
    await db.service.transaction(async (c) => {
      const due = await schedules.lockDue(c, id);
      expect(due).toMatchObject({ id, spec, nextAt: past, lastNominalAt: null });
      expect(await db.reserved.transaction((other) => schedules.lockDue(other, id))).toBeNull();
      const tick = {
        scheduleId: id,
        origin: 'timer',
        nominalAt: past,
        untilAt: past,
        target: 'x',
        tenantId,
        count: 1,
        bucket: 'fired',
        reasonCode: 'ADMITTED',
        receiptId: null,
      } as const;
      expect(await scheduleTicks.record(c, [tick])).toBe(1);
      expect(await scheduleTicks.record(c, [tick])).toBe(0);
      await schedules.advance(c, id, past, new Date('2026-01-01T00:00:20Z'));
    });
    await db.service.transaction(async (c) => {
      expect(await schedules.lockDue(c, id)).toMatchObject({ id, lastNominalAt: past });
    });
  });

  test('the same specification again changes nothing; another starts anew; one that is gone is retired', async () => {
    const db = await testStore();
    const { id: tenantId, policyVersion } = await seedTenant(db);
    const base = { tenantId, route: 'tidy', ordinal: 0, policyVersion, nextAt: new Date(0) };
    const ensure = (cron: string) =>
      db.service.use((c) =>
        schedules.ensure(c, { ...base, id: systemIds.next('sch'), spec: { ...spec, cron } }),
      );
    expect(await ensure('@every 20s')).toBe(1);
    expect(await ensure('@every 20s')).toBe(0);
    await rows(db, 'update headgate.schedule set last_nominal_at = now()');
    expect(await ensure('@hourly')).toBe(1);
    const all = () => db.service.use((c) => schedules.all(c));
    expect(await all()).toMatchObject([{ spec: { cron: '@hourly' }, lastNominalAt: null }]);
    const retire = (keep: readonly { tenantId: number; route: string; ordinal: number }[]) =>
      db.service.use((c) => schedules.retireOthers(c, keep));
    expect(await retire([base])).toBe(0);
    expect(await retire([])).toBe(1);
    expect(await all()).toEqual([]);
    expect(await ensure('@hourly')).toBe(1);
    expect(await all()).toHaveLength(1);
  });
});
