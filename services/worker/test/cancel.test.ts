import { formatId, type RunSpec } from '@headgate/domain';
import { cancelRun } from '@headgate/store';
import { armFailPoint, type FailPoint, waitForSignal } from '@headgate/telemetry';
import { eventually, type SeededRun } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { eventsOf, exampleAgent, rowsOf, stillRunning, type Workshop, workshop } from './workshop.js';

const branchOf = (run: SeededRun) => `agent/${formatId('task', run.taskId)}/${formatId('run', run.runId)}`;
const cancel = (shop: Workshop, run: SeededRun) =>
  cancelRun(shop.db.service, run.runId, { actor: 'mona', reason: 'not needed any more' });

const phaseOf = async (shop: Workshop, run: SeededRun) =>
  (
    await rowsOf<{ phase: string; attempt: string | null; evidence: Record<string, unknown> | null }>(
      shop,
      `select r.cancel_phase as phase, a.status as attempt, a.evidence
         from headgate.run r left join headgate.attempt a on a.run_id = r.id where r.id = $1`,
      [run.runId],
    )
  )[0];

/** Cancels a run that is held at a fail-point, and lets it go on. */
async function cancelledAt(
  shop: Workshop,
  point: FailPoint,
  spec: Partial<RunSpec> = {},
): Promise<SeededRun> {
  const held = armFailPoint(point, 'hold@1');
  try {
    const run = await shop.offer(spec);
    await held.reached;
    expect((await cancel(shop, run))?.result).toBe(point === 'worker.claim.before' ? 'ended' : 'requested');
    held.release();
    await shop.reaches(run.runId, 'CANCELLED', 30_000);
    return run;
  } finally {
    held.disarm();
  }
}

describe('Q5: a cancel', () => {
  it('before the lease, or while the workspace is prepared: no agent is ever started', async () => {
    const shop = await workshop();
    await shop.worker();
    const waiting = await cancelledAt(shop, 'worker.claim.before');
    expect(await phaseOf(shop, waiting)).toMatchObject({ phase: 'QUEUED', attempt: null });
    const preparing = await cancelledAt(shop, 'worker.workspace.prepared');
    expect(await phaseOf(shop, preparing)).toMatchObject({ attempt: 'cancelled' });
    expect(await eventsOf(shop, preparing.runId)).not.toContain('run.running');
    expect(await shop.repository.pushes()).toEqual([]);
  }, 90_000);

  it('while the agent works, or is verified: it is killed with all it started, and only then is the run CANCELLED', async () => {
    const shop = await workshop();
    await shop.worker();
    for (const spec of [
      { agent: exampleAgent({ HEADGATE_EXAMPLE_MODE: 'hang' }) },
      { verify: ['sleep 600'] },
    ]) {
      const started = waitForSignal('worker.agent.started', () => true, 30_000);
      const run = await shop.offer(spec);
      const { pids } = await started;
      const phase = 'verify' in spec ? 'VERIFYING' : 'RUNNING';
      await shop.reaches(run.runId, phase, 30_000);
      await cancel(shop, run);
      await shop.reaches(run.runId, 'CANCELLED', 30_000);
      expect(await phaseOf(shop, run)).toMatchObject({ phase, attempt: 'cancelled' });
      expect(stillRunning(pids)).toEqual([]);
    }
    expect(await shop.repository.pushes()).toEqual([]);
  }, 120_000);

  it('while the result is judged and sealed, or its push is intended: nothing is pushed', async () => {
    const shop = await workshop();
    await shop.worker();
    const sealing = await cancelledAt(shop, 'worker.judged');
    const intended = await cancelledAt(shop, 'effects.intended');
    expect(await phaseOf(shop, sealing)).toMatchObject({ attempt: 'cancelled' });
    expect(await phaseOf(shop, intended)).toMatchObject({ phase: 'FINALIZING', attempt: 'cancelled' });
    expect(await shop.repository.pushes()).toEqual([]);
  }, 90_000);

  it('after the push: the branch is kept, and the run ends CANCELLED with it as evidence', async () => {
    const shop = await workshop();
    await shop.worker();
    const run = await cancelledAt(shop, 'effects.called');
    expect(await shop.repository.head(branchOf(run))).not.toBeNull();
    const ended = await phaseOf(shop, run);
    expect(ended).toMatchObject({ phase: 'FINALIZING', attempt: 'cancelled' });
    expect(ended?.evidence).toMatchObject({
      push: { kind: 'confirmed', ref: `refs/heads/${branchOf(run)}` },
    });
  }, 60_000);

  it('of an agent that cannot be seen to stop: the slot is held until the lease has run out', async () => {
    const lease = { ttlMs: 6_000, heartbeatMs: 1_000, renewDeadlineMs: 4_000, stopMarginMs: 2_000 };
    const shop = await workshop({ lease });
    // A runtime whose process never ends: what an uninterruptible one looks like from here.
    const unstoppable = {
      name: 'unstoppable',
      isolation: 'none',
      mayRunUntrusted: false,
      probe: async () => ({ kind: 'available', detail: '' }),
      start: () => {
        const never = new Promise<never>(() => {});
        const identity = { provider: 'unstoppable', marker: 'none', processes: [] };
        const quiet = { on: () => quiet, pause: () => quiet, resume: () => quiet };
        return {
          stdout: quiet,
          stderr: quiet,
          started: Promise.resolve({ kind: 'started', identity }),
          exited: never,
          terminate: () => {},
          kill: () => {},
        };
      },
    };
    const sandbox = { provider: unstoppable, probes: [], warning: null };
    await shop.worker({ sandbox: sandbox as never, timing: { killGraceMs: 50, stopConfirmMs: 100 } });
    const started = waitForSignal('worker.agent.started');
    const run = await shop.offer();
    await started;
    await cancel(shop, run);
    await shop.reaches(run.runId, 'CANCELLED', 30_000);
    const ended = await phaseOf(shop, run);
    expect(ended?.evidence).toMatchObject({ agentStopped: false, reasonCode: 'CANCEL_UNCONFIRMED' });
    const [times] = await rowsOf<{ seconds: number }>(
      shop,
      'select extract(epoch from finished_at - cancel_requested_at)::float8 as seconds from headgate.run where id = $1',
      [run.runId],
    );
    expect(times?.seconds).toBeGreaterThan(2);
    await eventually(async () => (await shop.status(run.runId)).status === 'CANCELLED', {
      what: 'it stays so',
    });
  }, 60_000);
});
