/**
 * hatchet #1022, open-mercato #4192: a worker is frozen past its lease, another finishes its work, then it thaws.
 *
 * Three workers are frozen where it hurts most: before they hand in, before they ask whether they may push, and right
 * before the push that they were allowed to make.
 */
import { type FailPoint, HISTORY_OPS } from '@headgate/telemetry';
import {
  type Cluster,
  eventually,
  type JudgedCluster,
  type Member,
  SHORT_LEASE,
  startCluster,
} from '@headgate/testkit';
import { beforeAll, describe, expect, it } from 'vitest';
import { CLUSTER_TEST_MS, expectOnePushEach, PATIENCE_MS } from '../harness/outcomes.js';

const FROZEN_AT: readonly FailPoint[] = ['worker.finish.before', 'effects.intended', 'effects.attempted'];

describe('replay: hatchet #1022, open-mercato #4192', () => {
  let cluster: Cluster;
  let runIds: readonly string[];
  let frozen: readonly Member[];
  let judged: JudgedCluster;

  beforeAll(async () => {
    cluster = await startCluster({ services: { worker: 0 }, slots: 1, lease: SHORT_LEASE });
    frozen = await Promise.all(
      FROZEN_AT.map((point) => cluster.add('worker', { failPoints: `${point}=stop@1` })),
    );
    runIds = await cluster.sendForRuns('quick', FROZEN_AT.length);
    await Promise.all(FROZEN_AT.map((point, at) => cluster.failPointReached(point, frozen[at], PATIENCE_MS)));
    await cluster.add('worker', { env: { HEADGATE_WORKER_SLOTS: '4' } });
    await cluster.waitForRuns(runIds, 'SUCCEEDED', PATIENCE_MS);
    for (const member of frozen) member.thaw();
    // Each learns that its right to act is gone, and says so.
    await Promise.all(
      frozen.map((member) =>
        eventually(
          () =>
            cluster.signals
              .all()
              .some(({ name, pid }) => name === 'worker.dropped' && pid === member.process.pid),
          { what: `${member.name} drops what it held`, deadlineMs: PATIENCE_MS },
        ),
      ),
    );
    await cluster.settle(PATIENCE_MS);
    judged = await cluster.check({ mustHold: ['INV-LE1', 'INV-LE2', 'INV-LE3', 'INV-EF4'] });
  }, CLUSTER_TEST_MS);

  it('INV-LE3: the late result is refused, and the refusal is recorded', () => {
    const late = judged.input.history.filter(
      ({ op, type, proc }) =>
        op === HISTORY_OPS.finish && type === 'fail' && proc.startsWith(frozen[0]?.name ?? '-'),
    );
    expect(late.length).toBeGreaterThan(0);
  });

  it('INV-EF2: the late push is refused before it is made, and the refusal is recorded', () => {
    const asked = judged.input.history.filter(
      ({ op, proc }) =>
        (op === HISTORY_OPS.attempt || op === HISTORY_OPS.intend) && proc.startsWith(frozen[1]?.name ?? '-'),
    );
    const called = judged.input.history.filter(
      ({ op, proc }) => op === HISTORY_OPS.effectCall && proc.startsWith(frozen[1]?.name ?? '-'),
    );
    expect(asked.filter(({ type }) => type === 'fail').length).toBeGreaterThan(0);
    expect(called).toEqual([]);
  });

  it('INV-EF4: the call that was in flight has no second visible effect', async () => {
    await expectOnePushEach(cluster, runIds);
    expect(judged.report.findings).toEqual([]);
  });

  it('Q4: one attempt is lost for each frozen worker, and the end that was accepted stands', async () => {
    for (const runId of runIds) {
      const attempts = await cluster.ask.attempts(runId);
      expect(attempts.filter(({ status }) => status === 'succeeded')).toHaveLength(1);
      expect(attempts.at(-1)?.status).toBe('succeeded');
      expect((await cluster.ask.run(runId)).status).toBe('SUCCEEDED');
    }
  });

  it('Q14: a thawed worker goes on with new work', async () => {
    const [first] = frozen;
    expect(frozen.every((member) => member.isRunning)).toBe(true);
    const next = await cluster.sendForRuns('quick', 3, 101);
    await cluster.waitForRuns(next, 'SUCCEEDED', PATIENCE_MS);
    expect(first?.isRunning).toBe(true);
  });
});
