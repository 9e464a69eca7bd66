/**
 * A worker dies at every named point of its way, one process for each point; others finish its runs.
 *
 * All armed workers have one slot and share the same queue, so a run may meet more than one of them: what each of them
 * left is told by the attempts under its id.
 */
import { FAIL_POINTS, type FailPoint } from '@headgate/telemetry';
import { type Cluster, type Member, SHORT_LEASE, startCluster } from '@headgate/testkit';
import { beforeAll, describe, expect, it } from 'vitest';
import { attemptBehind, CLUSTER_TEST_MS, expectOnePushEach, PATIENCE_MS } from '../harness/outcomes.js';

const POINTS = FAIL_POINTS.filter((name) => name.startsWith('worker.') || name.startsWith('effects.'));
/** Passed before the claim commits: nothing was taken. */
const BEFORE_CLAIM: readonly FailPoint[] = ['worker.hint.received', 'worker.verdict.written'];
/** Passed after the result was sealed: no agent may run again. */
const SEALED = POINTS.slice(POINTS.indexOf('worker.sealed'));

interface Victim {
  readonly point: FailPoint;
  readonly member: Member;
  readonly attempts: readonly { readonly runId: string; readonly number: number; readonly status: string }[];
}

describe('a worker killed at each of its fail-points', () => {
  let cluster: Cluster;
  let runIds: readonly string[];
  let victims: readonly Victim[];

  beforeAll(async () => {
    cluster = await startCluster({ services: { worker: 0 }, slots: 1, lease: SHORT_LEASE });
    cluster.sample();
    const members = await Promise.all(
      POINTS.map((point) => cluster.add('worker', { failPoints: `${point}=kill` })),
    );
    const pids = members.map((member) => member.process.pid);
    runIds = await cluster.sendForRuns('quick', POINTS.length);
    const exits = await Promise.all(members.map((member) => member.process.exited));
    expect(exits.map((exit) => exit.signal)).toEqual(POINTS.map(() => 'SIGKILL'));
    await cluster.add('worker', { env: { HEADGATE_WORKER_SLOTS: '8' } });
    await cluster.waitForRuns(runIds, 'SUCCEEDED', PATIENCE_MS);
    await cluster.settle(PATIENCE_MS);
    const { rows } = await cluster.pool.query<{ pid: number; runId: string; number: number; status: string }>(
      `select w.pid, a.run_id as "runId", a.number, a.status
         from headgate.attempt a join headgate.worker w on w.id = a.worker_id order by a.started_at`,
    );
    victims = POINTS.map((point, at) => ({
      point,
      member: members[at] as Member,
      attempts: rows.filter((row) => row.pid === pids[at]),
    }));
  }, CLUSTER_TEST_MS);

  it('Q33: every run is finished by another worker, and nothing is left behind', async () => {
    expect(await cluster.ask.count("headgate.run where status <> 'SUCCEEDED'")).toBe(0);
    expect(await cluster.ask.count("headgate.attempt where status = 'running'")).toBe(0);
  });

  it('INV-EF1: each run has pushed exactly once, by content', () => expectOnePushEach(cluster, runIds));

  it.each(POINTS)('Q4: the attempts tell what the worker killed at %s had done', (point) => {
    const victim = victims.find((one) => one.point === point);
    const left = victim?.attempts.map((attempt) => attempt.status);
    if (BEFORE_CLAIM.includes(point)) expect(left).toEqual([]);
    else expect(left?.at(-1)).toBe(point === 'worker.finish.committed' ? 'succeeded' : 'lost');
  });

  it.each(SEALED)(
    'Q9: a result sealed before %s is finalised by the next attempt, never made again',
    async (point) => {
      const attempt = victims.find((one) => one.point === point)?.attempts.at(-1);
      if (attempt === undefined) throw new Error(`the worker killed at ${point} had no attempt`);
      const seals = await cluster.ask.count('headgate.seal where run_id = $1', attempt.runId);
      expect(seals).toBe(1);
      const behind = await attemptBehind(cluster, attempt.runId);
      expect(behind).toBeLessThanOrEqual(attempt.number);
      expect(cluster.gates.begun(attempt.runId).some((number) => number > attempt.number)).toBe(false);
    },
  );

  it('INV-LE1, INV-LE2, INV-ST3, INV-EF2: the history holds, takeovers included', async () => {
    const { report } = await cluster.check({
      mustHold: ['INV-LE1', 'INV-LE2', 'INV-ST1', 'INV-ST5', 'INV-IN4'],
    });
    expect(report.findings).toEqual([]);
  });
});
