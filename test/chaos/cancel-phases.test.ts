/**
 * A person cancels a run in each phase there is. One worker process with one slot for each phase, held exactly there;
 * the ledger, the history and the forge tell what the cancel found.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunId } from '@headgate/domain';
import type { FailPoint } from '@headgate/telemetry';
import { type Cluster, type Member, startCluster } from '@headgate/testkit';
import { beforeAll, describe, expect, it } from 'vitest';
import { CLUSTER_TEST_MS, PATIENCE_MS } from '../harness/outcomes.js';

interface Phase {
  readonly point: FailPoint;
  readonly phase: string;
  /** Branches at the forge when the run has ended: what was pushed before the cancel is kept. */
  readonly pushes: 0 | 1;
}

const HELD: readonly Phase[] = [
  { point: 'worker.claim.committed', phase: 'claimed', pushes: 0 },
  { point: 'worker.workspace.prepared', phase: 'preparing', pushes: 0 },
  { point: 'worker.agent.exited', phase: 'done by the agent', pushes: 0 },
  { point: 'worker.collected', phase: 'collected', pushes: 0 },
  { point: 'worker.sealed', phase: 'sealed', pushes: 0 },
  { point: 'effects.intended', phase: 'intended', pushes: 0 },
  // The fence was validated: this one call may still be made.
  { point: 'effects.attempted', phase: 'about to push', pushes: 1 },
  { point: 'effects.called', phase: 'pushed', pushes: 1 },
  { point: 'worker.finish.before', phase: 'about to finish', pushes: 1 },
];

describe('a cancel in each phase', () => {
  let cluster: Cluster;
  const runOf = new Map<string, RunId>();

  beforeAll(async () => {
    cluster = await startCluster({ services: { worker: 0 }, slots: 1 });
    const release = (point: string): string => join(cluster.folder, `release-${point}`);

    // RUNNING and VERIFYING are held by their gates.
    const plain = await cluster.add('worker', { env: { HEADGATE_WORKER_SLOTS: '2' } });
    const [running, verifying] = [
      await cluster.sendForRun('gated-1'),
      await cluster.sendForRun('verified-1'),
    ];
    await Promise.all([
      cluster.gates.agentBegins(running, PATIENCE_MS),
      cluster.gates.verificationBegins(PATIENCE_MS),
      cluster.waitForRun(verifying, 'VERIFYING', PATIENCE_MS),
    ]);
    runOf.set('running', running).set('verifying', verifying);

    const members = await Promise.all(
      HELD.map(({ point }) => cluster.add('worker', { failPoints: `${point}=hold:${release(point)}` })),
    );
    const quick = await cluster.sendForRuns('quick', HELD.length);
    await Promise.all(
      HELD.map(({ point }, at) => cluster.failPointReached(point, members[at] as Member, PATIENCE_MS)),
    );
    for (const [at, { phase }] of HELD.entries()) {
      const pid = members[at]?.process.pid;
      const { rows } = await cluster.pool.query<{ runId: RunId }>(
        `select a.run_id as "runId" from headgate.attempt a join headgate.worker w on w.id = a.worker_id where w.pid = $1 order by a.started_at desc`,
        [pid],
      );
      const [held] = rows;
      if (held === undefined) throw new Error(`nothing is ${phase}`);
      runOf.set(phase, held.runId);
    }
    // All slots are taken: this one waits.
    runOf.set('queued', await cluster.sendForRun('quick-waiting'));
    expect([...new Set(runOf.values())]).toHaveLength(HELD.length + 3);
    expect(quick).toHaveLength(HELD.length);

    await Promise.all([...runOf.values()].map((runId) => cluster.cancel(runId)));
    for (const { point } of HELD) writeFileSync(release(point), '');
    await cluster.waitForRuns([...runOf.values()], 'CANCELLED', PATIENCE_MS);
    await cluster.settle(PATIENCE_MS);
    expect(plain.isRunning).toBe(true);
  }, CLUSTER_TEST_MS);

  const phases = [
    { phase: 'queued', pushes: 0 },
    { phase: 'running', pushes: 0 },
    { phase: 'verifying', pushes: 0 },
    ...HELD.map(({ phase, pushes }) => ({ phase, pushes })),
  ];

  it.each(phases)(
    'Q5: a run that is $phase ends CANCELLED, with $pushes branch(es) kept',
    async ({ phase, pushes }) => {
      const runId = runOf.get(phase) ?? '';
      const run = await cluster.ask.run(runId);
      expect(run).toMatchObject({ status: 'CANCELLED', reasonCode: 'CANCELLED_BY_USER' });
      expect((await cluster.pushes()).filter((push) => push.runId === runId)).toHaveLength(pushes);
      const attempts = await cluster.ask.attempts(runId);
      expect(attempts.map(({ status }) => status)).toEqual(phase === 'queued' ? [] : ['cancelled']);
    },
  );

  it('INV-ST2: after each cancel no attempt begins and no intent is written', async () => {
    const { report } = await cluster.check({ mustHold: ['INV-ST1', 'INV-ST2'] });
    expect(report.findings).toEqual([]);
    expect(report.witnessed['INV-ST2']?.counts).toMatchObject({
      cancelledLeased: HELD.length + 2,
      cancelledWaiting: 1,
    });
  });
});
