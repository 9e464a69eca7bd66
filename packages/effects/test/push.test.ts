import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunId, TaskId } from '@headgate/domain';
import {
  branchRef,
  type PerformPushInput,
  type PerformPushResult,
  performPush,
  runBranch,
} from '@headgate/effects';
import { MemoryLedger } from '@headgate/effects/conformance';
import { gitOutput } from '@headgate/git';
import { armFailPoint, disarmAllFailPoints, type FailPoint } from '@headgate/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually, type Forge, fence, key, makeForge, ref } from './forge.js';

let forge: Forge;
let ledger: MemoryLedger;
let nowMs: number;
let sha: string;
beforeEach(async () => {
  forge = await makeForge();
  nowMs = 0;
  ledger = new MemoryLedger(fence, () => nowMs);
  sha = await forge.commit('result');
});
afterEach(async () => {
  disarmAllFailPoints();
  await forge.remove();
});

/** Waiting moves the ledger's clock and nothing else. */
const wait = async (ms: number): Promise<void> => {
  nowMs += ms;
};

const push = (changes: Partial<PerformPushInput> = {}): Promise<PerformPushResult> =>
  performPush({
    ledger,
    fence,
    key,
    gitDir: forge.gitDir,
    commitSha: sha,
    remoteUrl: forge.remote,
    ref,
    expectedOldSha: null,
    settleMs: 60_000,
    wait,
    ...changes,
  });

/** What reached the remote although its sender was cut off. */
const pushByHand = (commitSha: string) =>
  gitOutput({ gitDir: forge.gitDir, args: ['push', '--quiet', '--', forge.remote, `${commitSha}:${ref}`] });

const once = () => [`${'0'.repeat(40)} ${sha} ${ref}`];

describe('performPush', () => {
  it('Q9: pushes the commit to the branch of its run, and keeps the evidence', async () => {
    expect(await push()).toMatchObject({ kind: 'confirmed', sha });
    expect(await forge.headOf(ref)).toBe(sha);
    expect(await ledger.find(key)).toMatchObject({
      state: 'confirmed',
      tries: 1,
      externalId: `${ref}@${sha}`,
      evidence: { source: 'push', sha, ref },
      intent: { remoteUrl: forge.remote, ref, commitSha: sha, expectedOldSha: null },
    });
  });

  it('Q25: a second push of the same operation calls nothing', async () => {
    await push();
    expect(await push()).toMatchObject({ kind: 'confirmed', sha });
    expect(await forge.pushes()).toEqual(once());
    expect((await ledger.find(key))?.tries).toBe(1);
  });

  it.each<FailPoint>(['effects.intended', 'effects.attempted', 'effects.called', 'effects.confirmed'])(
    'INV-EF1: a claimant that dies at %s has one visible effect together with its successor',
    async (point) => {
      armFailPoint(point, 'throw');
      await expect(push()).rejects.toThrow();
      disarmAllFailPoints();
      const successor = ledger.takeOver();
      expect(await push({ fence: successor })).toMatchObject({ kind: 'confirmed', sha });
      expect(await forge.pushes()).toEqual(once());
      expect(await ledger.find(key)).toMatchObject({ state: 'confirmed' });
    },
  );

  it('INV-EF3: after an attempt without a report it reads until the settle window is over before it calls', async () => {
    armFailPoint('effects.attempted', 'throw');
    await expect(push()).rejects.toThrow();
    disarmAllFailPoints();
    const waits: number[] = [];
    const counted = async (ms: number): Promise<void> => {
      waits.push(ms);
      expect(await forge.pushes()).toEqual([]);
      await wait(ms);
    };
    expect(await push({ fence: ledger.takeOver(), wait: counted })).toMatchObject({ kind: 'confirmed' });
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBe(60_000);
    expect((await ledger.find(key))?.tries).toBe(2);
  });

  it('a call that was cut off and lands late is found by reading, and not repeated', async () => {
    armFailPoint('effects.attempted', 'throw');
    await expect(push()).rejects.toThrow();
    disarmAllFailPoints();
    let waited = 0;
    const landing = async (ms: number): Promise<void> => {
      waited += 1;
      if (waited === 3) await pushByHand(sha);
      await wait(ms);
    };
    expect(await push({ fence: ledger.takeOver(), wait: landing })).toMatchObject({ kind: 'confirmed', sha });
    expect(await forge.pushes()).toEqual(once());
    expect(await ledger.find(key)).toMatchObject({ tries: 1, evidence: { source: 'read' } });
  });

  it('a call that times out is ambiguous, then read, and succeeds when the remote lets it', async () => {
    const gate = join(forge.folder, 'gate');
    await forge.preReceive(`while [ ! -e ${gate} ]; do sleep 0.02; done`);
    const opening = async (ms: number): Promise<void> => {
      await writeFile(gate, '');
      await wait(ms);
    };
    expect(await push({ timeoutMs: 2_500, wait: opening })).toMatchObject({ kind: 'confirmed', sha });
    expect(await forge.headOf(ref)).toBe(sha);
    // Logged behind the update, which is what was read.
    await eventually('the push is logged', async () => (await forge.pushes()).length > 0);
    expect(await forge.pushes()).toEqual(once());
  });

  it('INV-EF4: a zombie that pushes the same commit after its successor has no second effect', async () => {
    const point = armFailPoint('effects.attempted', 'hold@1');
    const zombie = push();
    await point.reached;
    const successor = ledger.takeOver();
    expect(await push({ fence: successor })).toMatchObject({ kind: 'confirmed' });
    point.release();
    expect(await zombie).toMatchObject({ kind: 'confirmed' });
    expect(await forge.pushes()).toEqual(once());
  });

  it('INV-EF5: a zombie with another commit cannot overwrite its successor', async () => {
    const other = await forge.commit('of the zombie');
    const point = armFailPoint('effects.attempted', 'hold@1');
    const zombie = push({ commitSha: other, key: 'push:zombie' });
    await point.reached;
    expect(await push({ fence: ledger.takeOver() })).toMatchObject({ kind: 'confirmed' });
    point.release();
    expect(await zombie).toMatchObject({ kind: 'conflicted', reasonCode: 'SOURCE_MOVED' });
    expect(await forge.headOf(ref)).toBe(sha);
    expect(await forge.pushes()).toEqual(once());
  });

  it('Q16: a claimant without the lease calls nothing', async () => {
    ledger.takeOver();
    expect(await push()).toEqual({ kind: 'fence-lost' });
    expect(await forge.pushes()).toEqual([]);
  });

  it('Q16: the fence is looked at again immediately before the call', async () => {
    const point = armFailPoint('effects.intended', 'hold@1');
    const late = push();
    await point.reached;
    ledger.takeOver();
    point.release();
    expect(await late).toEqual({ kind: 'fence-lost' });
    expect(await forge.pushes()).toEqual([]);
  });

  it('INV-LE5: whose own time is over after the ledger has agreed calls nothing; the next one reads first', async () => {
    expect(await push({ mayCall: () => false })).toEqual({ kind: 'fence-lost' });
    expect(await forge.pushes()).toEqual([]);
    expect((await ledger.find(key))?.state).toBe('attempted');
    expect(await push({ mayCall: () => true })).toMatchObject({ kind: 'confirmed', sha });
    expect(await forge.pushes()).toEqual(once());
  });

  it('Q5: a cancelled run pushes nothing', async () => {
    ledger.cancelRun();
    expect(await push()).toEqual({ kind: 'cancelled' });
    expect(await forge.pushes()).toEqual([]);
  });

  it('INV-EF5: a branch that moved is left alone, for good', async () => {
    const first = await forge.foreignCommit('ours before', forge.base, ref);
    const colleague = await forge.foreignCommit('a colleague', first, ref);
    const result = await push({ expectedOldSha: first });
    expect(result).toMatchObject({ kind: 'conflicted', reasonCode: 'SOURCE_MOVED' });
    expect(result.kind === 'conflicted' && result.detail).toContain(`is at ${colleague}`);
    expect(await push({ expectedOldSha: first })).toMatchObject({ kind: 'conflicted' });
    expect(await forge.headOf(ref)).toBe(colleague);
    expect((await ledger.find(key))?.tries).toBe(1);
  });

  it('a branch that was deleted meanwhile is not made again', async () => {
    const first = await forge.commit('before');
    expect(await push({ expectedOldSha: first })).toMatchObject({ kind: 'conflicted' });
    expect(await forge.headOf(ref)).toBeNull();
  });

  it('what a colleague built upon our commit shows that ours arrived', async () => {
    armFailPoint('effects.called', 'throw');
    await expect(push()).rejects.toThrow();
    disarmAllFailPoints();
    const onTop = await forge.foreignCommit('review', sha, ref);
    expect(await push({ fence: ledger.takeOver() })).toMatchObject({ kind: 'confirmed', sha });
    expect(await forge.headOf(ref)).toBe(onTop);
    expect(await forge.pushes()).toEqual(once());
  });

  it("the remote's own rules are final", async () => {
    await forge.preReceive('echo "not here" >&2; exit 1');
    expect(await push()).toMatchObject({ kind: 'refused', reasonCode: 'EFFECT_FAILED' });
    await forge.preReceive('exit 0');
    expect(await push()).toMatchObject({ kind: 'refused' });
    expect(await forge.headOf(ref)).toBeNull();
  });

  it('a remote that does not answer leaves it ambiguous, and later it is done', async () => {
    await rename(forge.remote, `${forge.remote}.away`);
    expect(await push()).toMatchObject({ kind: 'ambiguous' });
    expect((await ledger.find(key))?.state).toBe('ambiguous');
    await rename(`${forge.remote}.away`, forge.remote);
    expect(await push()).toMatchObject({ kind: 'confirmed' });
    expect(await forge.pushes()).toEqual(once());
  });

  it('Q5: an abort while it waits leaves the row to be read later', async () => {
    armFailPoint('effects.attempted', 'throw');
    await expect(push()).rejects.toThrow();
    disarmAllFailPoints();
    const controller = new AbortController();
    const aborting = async (): Promise<void> => controller.abort();
    const result = await push({ fence: ledger.takeOver(), signal: controller.signal, wait: aborting });
    expect(result).toMatchObject({ kind: 'ambiguous' });
    expect(await forge.pushes()).toEqual([]);
  });

  it('an operation never changes what it is: another commit under the same key is refused', async () => {
    await push();
    const other = await forge.commit('another');
    expect(await push({ commitSha: other })).toMatchObject({ kind: 'conflicted' });
    expect(await forge.headOf(ref)).toBe(sha);
  });

  it('INV-TE2: credentials of the address are not kept', async () => {
    await push({ remoteUrl: `file://user:s3cret@${forge.remote}` });
    expect(JSON.stringify(await ledger.find(key))).not.toContain('s3cret');
  });
});

describe('runBranch', () => {
  it('Q9: names the branch by task and run', () => {
    const taskId = '01890000-0000-7000-8000-000000000003' as TaskId;
    const branch = runBranch(taskId, fence.runId as RunId);
    expect(branch).toMatch(/^agent\/task_[0-9a-z]{26}\/run_[0-9a-z]{26}$/);
    expect(branchRef(branch)).toBe(`refs/heads/${branch}`);
  });
});
