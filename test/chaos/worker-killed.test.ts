/**
 * A worker dies at every named point of its way, one process for each point; another one finishes its runs.
 *
 * Each doomed worker has a queue of its own and gets one run there; the survivor serves all queues. So each run meets
 * one death, and its attempts tell exactly what the dead worker had done.
 */
import { FAIL_POINTS, type FailPoint } from '@headgate/telemetry';
import { type Cluster, describeWithTool, SHORT_LEASE, startCluster } from '@headgate/testkit';
import { beforeAll, expect, it } from 'vitest';
import { attemptBehind, CLUSTER_TEST_MS, expectOnePushEach, PATIENCE_MS } from '../harness/outcomes.js';

/** Passed only where a goal is looked at: services/worker/test/observe.test.ts. */
const OF_OBSERVATIONS: readonly FailPoint[] = ['worker.observed'];
const POINTS = FAIL_POINTS.filter(
  (name) => (name.startsWith('worker.') || name.startsWith('effects.')) && !OF_OBSERVATIONS.includes(name),
);
/** Passed before the claim commits: nothing was taken. */
const BEFORE_CLAIM: readonly FailPoint[] = ['worker.hint.received', 'worker.claim.before'];
/** Passed after the result was sealed: no agent may run again. */
const SEALED = POINTS.slice(POINTS.indexOf('worker.sealed'));
const lanes = POINTS.map((_, at) => `lane${at + 1}`);

const ONE_LOST = ['lost', 'succeeded'];
const NONE_LOST = ['succeeded'];

// A hint reaches a worker through Redis only; without one, that point is never passed.
describeWithTool('redis', 'a worker killed at each of its fail-points', () => {
  let cluster: Cluster;
  let runOf: ReadonlyMap<FailPoint, string>;

  beforeAll(async () => {
    cluster = await startCluster({ services: { worker: 0 }, lease: SHORT_LEASE, lanes });
    cluster.sample();
    const doomed = await Promise.all(
      POINTS.map((point, at) =>
        cluster.add('worker', {
          failPoints: `${point}=kill`,
          options: { worker: { queues: [lanes[at]], slots: 1 } },
        }),
      ),
    );
    const runIds = await Promise.all(lanes.map((lane) => cluster.sendForRun(`${lane}-1`)));
    runOf = new Map(POINTS.map((point, at) => [point, runIds[at] ?? '']));
    const exits = await Promise.all(doomed.map((member) => member.process.exited));
    expect(exits.map((exit) => exit.signal)).toEqual(POINTS.map(() => 'SIGKILL'));
    // After the last death: it would take what a doomed worker has not claimed yet, and that one would live on.
    await cluster.add('worker', { env: { HEADGATE_WORKER_SLOTS: '8' } });
    await cluster.waitForRuns(runIds, 'SUCCEEDED', PATIENCE_MS);
    await cluster.settle(PATIENCE_MS);
  }, CLUSTER_TEST_MS);

  const runAt = (point: FailPoint): string => runOf.get(point) ?? '';

  it('Q34, Q33: every run is finished by another worker, and nothing is left behind', async () => {
    expect(await cluster.ask.count("headgate.run where status <> 'SUCCEEDED'")).toBe(0);
    expect(await cluster.ask.count("headgate.attempt where status = 'running'")).toBe(0);
  });

  it('INV-EF1: each run has pushed exactly once, by content', () =>
    expectOnePushEach(cluster, [...runOf.values()]));

  it.each(POINTS)('Q4: the attempts tell what the worker killed at %s had done', async (point) => {
    const isCharged = !BEFORE_CLAIM.includes(point) && point !== 'worker.finish.committed';
    const attempts = await cluster.ask.attempts(runAt(point));
    expect(attempts.map(({ status }) => status)).toEqual(isCharged ? ONE_LOST : NONE_LOST);
    if (isCharged) expect(attempts[0]?.reasonCode).toBe('WORKER_LOST');
  });

  it.each(SEALED)(
    'Q9: a result sealed before %s is finalised by the next attempt, never made again',
    async (point) => {
      const runId = runAt(point);
      expect(await cluster.ask.count('headgate.seal where run_id = $1', runId)).toBe(1);
      expect(await attemptBehind(cluster, runId)).toBe(1);
      expect(cluster.gates.begun(runId)).toEqual([1]);
    },
  );

  it('INV-LE1, INV-LE2, INV-ST3, INV-EF2: the history holds, takeovers included', async () => {
    const { report } = await cluster.check({
      mustHold: ['INV-LE1', 'INV-LE2', 'INV-ST1', 'INV-ST5', 'INV-IN4'],
    });
    expect(report.findings).toEqual([]);
  });
});
