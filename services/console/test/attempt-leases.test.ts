/** How an attempt held its right to act, told without a row for each heartbeat. */
import { formatId, type RunId } from '@headgate/domain';
import type { RunAttempt, RunDetail } from '@headgate/sdk';
import { leases, reap } from '@headgate/store';
import { expireLease, finishRun, runInStatus, type SeededLease } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { aConsole, type TestConsole } from './a-console.js';

const attemptOf = async (test: TestConsole, runId: RunId): Promise<RunAttempt> => {
  const [attempt] = (await test.json<RunDetail>(`/v1/runs/${formatId('run', runId)}`)).attempts;
  if (attempt === undefined) throw new Error('no attempt');
  return attempt;
};
const beat = ({ store }: TestConsole, { fence, workerId }: SeededLease) =>
  store.reserved.use((c) => leases.beat(c, [fence], workerId, 60_000));

async function running(test: TestConsole) {
  const run = await runInStatus(test.store, 'RUNNING', { tenant: test.tenant });
  const { lease, runId } = run;
  if (lease === null) throw new Error('no lease');
  return { runId, lease };
}

describe('the lease of an attempt', () => {
  it('while it is held: each heartbeat counts, and none before the first', async () => {
    const test = await aConsole();
    const { runId, lease } = await running(test);
    const fresh = await attemptOf(test, runId);
    expect(fresh.lease).toMatchObject({
      acquiredAt: fresh.startedAt,
      renewedAt: null,
      beatMs: null,
      renewals: 0,
      releasedAt: null,
      lostAt: null,
    });
    for (let n = 0; n < 3; n += 1) await beat(test, lease);
    const { lease: beaten, startedAt } = await attemptOf(test, runId);
    expect(beaten.renewals).toBe(3);
    const renewedAt = Date.parse(beaten.renewedAt ?? '');
    expect(Date.parse(beaten.expiresAt ?? '') - renewedAt).toBe(60_000);
    expect(beaten.beatMs).toBe(Math.round((renewedAt - Date.parse(startedAt)) / 3));
  });

  it('once it was given back: what it was, with the time of its release', async () => {
    const test = await aConsole();
    const { runId, lease } = await running(test);
    await beat(test, lease);
    const held = (await attemptOf(test, runId)).lease;
    await finishRun(test.store, lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' });
    const attempt = await attemptOf(test, runId);
    expect(attempt.lease).toEqual({ ...held, releasedAt: attempt.finishedAt });
  });

  it('once it was lost: how often it had been renewed, and when the reaper took it', async () => {
    const test = await aConsole();
    const { runId, lease } = await running(test);
    await beat(test, lease);
    await beat(test, lease);
    await expireLease(test.store, runId);
    await reap(test.store.service, { limit: 10, graceMs: 1_000, random: () => 0.5, actor: 'reconciler' });
    const attempt = await attemptOf(test, runId);
    expect(attempt).toMatchObject({ status: 'lost', lease: { renewals: 2, releasedAt: null } });
    expect(attempt.lease.lostAt).toBe(attempt.finishedAt);
  });

  it('a heartbeat that came too late renews nothing, and is not counted', async () => {
    const test = await aConsole();
    const { runId, lease } = await running(test);
    await expireLease(test.store, runId);
    await beat(test, lease);
    expect((await attemptOf(test, runId)).lease).toMatchObject({ renewals: 0, renewedAt: null });
  });
});
