/** What tests of the whole system expect in the same words. */
import type { Cluster } from '@headgate/testkit';
import { expect } from 'vitest';

/** A bound for things that take a second on an idle machine: reached only when something is wrong. */
export const PATIENCE_MS = 120_000;
/** Of a test that starts a cluster. */
export const CLUSTER_TEST_MS = 360_000;

/** Each of the runs has pushed exactly once: one branch, one commit, nothing after it. */
export async function expectOnePushEach(cluster: Cluster, runIds: readonly string[]): Promise<void> {
  const pushes = await cluster.pushes();
  const perRun = Object.fromEntries(
    runIds.map((runId) => [runId, pushes.filter((push) => push.runId === runId).length]),
  );
  expect(perRun).toEqual(Object.fromEntries(runIds.map((runId) => [runId, 1])));
  const branches = new Set(pushes.map((push) => push.branch));
  expect(branches.size).toBe(pushes.length);
}

/** Which attempt made the file that a run's branch shows. */
export async function attemptBehind(cluster: Cluster, runId: string): Promise<number> {
  const push = (await cluster.pushes()).find((one) => one.runId === runId);
  if (push?.after == null) throw new Error(`run ${runId} has pushed nothing`);
  const name = /[^/]+$/.exec(push.branch)?.[0] ?? '';
  const text = await cluster.forge.read(push.after, `results/${name}.txt`);
  return Number(/attempt (\d+)/.exec(text)?.[1]);
}
