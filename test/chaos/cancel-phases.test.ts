/**
 * A person cancels a run in each phase there is. Each run is held exactly there, by a gate or by a fail-point that
 * holds the first run that comes by; so they are sent one after the other, and the later ones pass where an earlier
 * one is held. The ledger, the history and the forge tell what the cancel found.
 *
 * Two workers: one for the phases that gates hold, one for the fail-points. A lane that nobody serves keeps the run
 * that waits.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunId } from '@headgate/domain';
import type { FailPoint } from '@headgate/telemetry';
import { type Cluster, startCluster } from '@headgate/testkit';
import { beforeAll, describe, expect, it } from 'vitest';
import { CLUSTER_TEST_MS, PATIENCE_MS } from '../harness/outcomes.js';

interface Phase {
  readonly point: FailPoint;
  readonly phase: string;
  /** Branches at the forge when the run has ended: what was pushed before the cancel is kept. */
  readonly pushes: 0 | 1;
}

/** In the order of a run's way. */
const HELD: readonly Phase[] = [
  { point: 'worker.attempt.begun', phase: 'claimed', pushes: 0 },
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
    cluster = await startCluster({ services: { worker: 0 }, lanes: ['way', 'nobody'] });
    const release = (point: string): string => join(cluster.folder, `release-${point}`);
    const failPoints = HELD.map(({ point }) => `${point}=hold:${release(point)}@1`).join(';');
    const serving = (queue: string, slots: number) => ({ options: { worker: { queues: [queue], slots } } });
    await Promise.all([
      cluster.add('worker', serving('default', 2)),
      cluster.add('worker', { ...serving('way', HELD.length), failPoints }),
    ]);

    const byGates = async (): Promise<void> => {
      const [running, verifying] = [
        await cluster.sendForRun('gated-1'),
        await cluster.sendForRun('verified-1'),
      ];
      runOf.set('running', running).set('verifying', verifying);
      await Promise.all([
        cluster.gates.agentBegins(running, PATIENCE_MS),
        cluster.gates.verificationBegins(PATIENCE_MS),
        cluster.waitForRun(verifying, 'VERIFYING', PATIENCE_MS),
      ]);
    };
    const onTheWay = async (): Promise<void> => {
      for (const [at, { point, phase }] of HELD.entries()) {
        runOf.set(phase, await cluster.sendForRun(`way-${at}`));
        await cluster.failPointReached(point, undefined, PATIENCE_MS);
      }
    };
    await Promise.all([byGates(), onTheWay()]);
    runOf.set('queued', await cluster.sendForRun('nobody-1'));

    await Promise.all([...runOf.values()].map((runId) => cluster.cancel(runId)));
    for (const { point } of HELD) writeFileSync(release(point), '');
    await cluster.waitForRuns([...runOf.values()], 'CANCELLED', PATIENCE_MS);
    await cluster.settle(PATIENCE_MS);
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
