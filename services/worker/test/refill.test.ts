import type { SourceReader } from '@headgate/sources';
import { waitForSignal } from '@headgate/telemetry';
import { describe, expect, it } from 'vitest';
import type { AttemptBody } from '../src/run/execute.js';
import { rowsOf, type Workshop, workshop } from './workshop.js';

const nothingToDo: AttemptBody = () =>
  Promise.resolve({
    kind: 'end',
    outcome: { kind: 'succeeded', reasonCode: 'NO_CHANGE' },
    evidence: {},
  });

/** Runs of one key of limit 1: one is offered, the others are ready, and no scheduler is there. */
async function oneAfterTheOther(shop: Workshop, count: number) {
  const key = { concurrency: { key: 'deploy', limit: 1 } };
  const [first, ...others] = await Promise.all(Array.from({ length: count }, () => shop.seed({}, key)));
  if (first === undefined) throw new Error('nothing was seeded');
  await shop.dispatch(first);
  return { first, others };
}

describe('a slot that is free again', () => {
  it('Q13: is filled by the worker itself: runs that share a key follow each other without a scheduler', async () => {
    const shop = await workshop();
    const { first, others } = await oneAfterTheOther(shop, 4);
    await shop.worker({ slots: 2, attempt: nothingToDo });
    for (const run of [first, ...others]) await shop.reaches(run.runId, 'SUCCEEDED');
    // At most one at a time, although two slots were free.
    const overlaps = await rowsOf(
      shop,
      `select 1 from headgate.attempt a join headgate.attempt b on a.id < b.id
        where b.started_at < a.finished_at`,
    );
    expect(overlaps).toEqual([]);
  }, 90_000);

  it('I6: is filled again where what it was filled with was stale: that never starts, and costs nothing', async () => {
    const shop = await workshop();
    const key = { concurrency: { key: 'deploy', limit: 1 } };
    const target = (id: string) => ({ kind: 'branch', id, ref: 'main', aspect: null }) as const;
    // In this order of rank, one after the other.
    const first = await shop.seed({ target: target('stands') }, key);
    const stale = await shop.seed({ target: target('moved') }, key);
    const last = await shop.seed({ target: target('stands') }, key);
    const readHead: SourceReader['readHead'] = async ({ target: { id } }) => ({
      kind: 'head',
      sha: id === 'moved' ? 'e'.repeat(40) : shop.headSha,
      observedAt: new Date(),
    });
    await shop.dispatch(first);
    await shop.worker({ slots: 1, attempt: nothingToDo, reader: { readHead } });
    await shop.reaches(last.runId, 'SUCCEEDED');
    expect(await shop.status(stale.runId)).toMatchObject({ status: 'NO_WORK', reasonCode: 'STALE_INPUT' });
    const attempts = await rowsOf(shop, 'select run_id from headgate.attempt order by started_at');
    expect(attempts).toEqual([{ run_id: first.runId }, { run_id: last.runId }]);
  }, 90_000);

  it('Q13: is left to a scheduler where another dispatches just then: it is woken, and counts after both', async () => {
    const shop = await workshop();
    const { first, others } = await oneAfterTheOther(shop, 2);
    const woken = waitForSignal('worker.refill.wakes', () => true, 20_000);
    await shop.db.service.transaction(async (dispatcher) => {
      await dispatcher.query("select pg_advisory_xact_lock(hashtextextended('headgate.dispatch', 0))");
      await shop.worker({ slots: 1, attempt: nothingToDo });
      await shop.reaches(first.runId, 'SUCCEEDED');
      expect(await woken).toEqual({ pairs: [{ tenantId: shop.tenant.id, queue: 'default' }] });
    });
    expect(await Promise.all(others.map(async ({ runId }) => (await shop.status(runId)).status))).toEqual([
      'QUEUED',
    ]);
  }, 90_000);
});
