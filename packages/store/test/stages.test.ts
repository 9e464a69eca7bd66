import { cancelRun, enterStages } from '@headgate/store';
import { claimRun, seedRun, testStore } from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { rows, statusOf } from './rows.js';

describe('stages', () => {
  test('Q10: one write may pass several stages, and each leaves its event, in order', async () => {
    const db = await testStore();
    const run = await seedRun(db);
    const { fence } = await claimRun(db, run);
    expect(await enterStages(db.service, [{ fence, to: 'JUDGING', actor: 'worker' }])).toEqual(
      new Map([[run.runId, 'moved']]),
    );
    const told = await rows<{ type: string }>(
      db,
      `select type, lease_id from headgate.run_event where run_id = $1 order by id offset 2`,
      [run.runId],
    );
    expect(told).toEqual(
      ['run.claimed', 'run.preparing_sandbox', 'run.running', 'run.verifying', 'run.judging'].map((type) => ({
        type,
        lease_id: fence.leaseId,
      })),
    );
  });

  test('a repair goes back to RUNNING; the same stage again changes nothing; backwards else is refused', async () => {
    const db = await testStore();
    const run = await seedRun(db);
    const { fence } = await claimRun(db, run);
    const enter = async (to: 'PREPARING_SANDBOX' | 'VERIFYING' | 'RUNNING') =>
      (await enterStages(db.service, [{ fence, to, actor: 'worker' }])).get(run.runId);
    expect(await enter('VERIFYING')).toBe('moved');
    expect(await enter('RUNNING')).toBe('moved');
    const events = () => rows(db, 'select count(*)::int as n from headgate.run_event');
    const before = await events();
    expect(await enter('RUNNING')).toBe('moved');
    expect(await enter('PREPARING_SANDBOX')).toBe('held');
    expect(await events()).toEqual(before);
    await cancelRun(db.service, run.runId, { actor: 'mona', reason: null });
    expect(await enter('VERIFYING')).toBe('held');
    expect(await statusOf(db, run.runId)).toBe('CANCEL_REQUESTED');
  });
});
