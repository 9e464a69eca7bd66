import { rename } from 'node:fs/promises';
import type { Operation } from '@headgate/domain';
import { performPush, type ResolveInput, resolveAmbiguous } from '@headgate/effects';
import { MemoryLedger } from '@headgate/effects/conformance';
import { armFailPoint, disarmAllFailPoints, type FailPoint } from '@headgate/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Forge, fence, key, makeForge, ref } from './forge.js';

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

/** The operation of a run whose worker died at this point and that nobody takes up again. */
async function abandonedAt(point: FailPoint): Promise<Operation> {
  armFailPoint(point, 'throw');
  const { remote: remoteUrl, gitDir } = forge;
  const dying = performPush({
    ledger,
    fence,
    key,
    gitDir,
    commitSha: sha,
    remoteUrl,
    ref,
    expectedOldSha: null,
  });
  await expect(dying).rejects.toThrow();
  disarmAllFailPoints();
  ledger.expireLease();
  return current();
}

async function current(): Promise<Operation> {
  const operation = await ledger.find(key);
  if (operation === null) throw new Error('there is no operation');
  return operation;
}

const resolve = (operation: Operation, changes: Partial<ResolveInput> = {}) =>
  resolveAmbiguous({ ledger, operation, settleMs: 60_000, ...changes });

describe('resolveAmbiguous', () => {
  it('INV-EF3: confirms what the provider shows', async () => {
    const operation = await abandonedAt('effects.called');
    expect(await resolve(operation)).toMatchObject({ kind: 'resolved', operation: { state: 'confirmed' } });
  });

  it('INV-EF3: believes that nothing arrived only after the settle window, and never calls', async () => {
    const operation = await abandonedAt('effects.attempted');
    expect(await resolve(operation)).toMatchObject({ kind: 'too-early', remainingMs: 60_000 });
    nowMs = 59_999;
    expect(await resolve(await current())).toMatchObject({ kind: 'too-early' });
    nowMs = 60_000;
    expect(await resolve(await current())).toMatchObject({
      kind: 'resolved',
      operation: { state: 'absent' },
    });
    expect(await forge.pushes()).toEqual([]);
    expect((await current()).tries).toBe(1);
  });

  it('sees a conflict', async () => {
    const operation = await abandonedAt('effects.attempted');
    const theirs = await forge.foreignCommit('theirs', forge.base, ref);
    const resolved = await resolve(operation);
    expect(resolved).toMatchObject({ kind: 'resolved', operation: { state: 'conflicted' } });
    expect((await current()).detail).toContain(theirs);
  });

  it('sees ours beneath what was built upon it, given a repository to look with', async () => {
    const operation = await abandonedAt('effects.called');
    await forge.foreignCommit('on top', sha, ref);
    expect(await resolve(operation, { gitDir: forge.gitDir })).toMatchObject({
      kind: 'resolved',
      operation: { state: 'confirmed' },
    });
  });

  it('decides nothing while the remote cannot be read', async () => {
    const operation = await abandonedAt('effects.called');
    await rename(forge.remote, `${forge.remote}.away`);
    expect(await resolve(operation)).toMatchObject({ kind: 'unreadable' });
    expect((await current()).state).toBe('ambiguous');
    expect(await resolve(await current(), { remoteUrl: `${forge.remote}.away` })).toMatchObject({
      kind: 'resolved',
      operation: { state: 'confirmed' },
    });
  });

  it('leaves alone what was never called or is settled', async () => {
    expect(await resolve(await abandonedAt('effects.intended'))).toMatchObject({ kind: 'not-ambiguous' });
    expect((await current()).state).toBe('intended');
  });
});
