/** Claimants that are really killed: processes of their own, SIGKILLed at each fail-point and in mid-call. */
import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { OperationFence } from '@headgate/domain';
import { performPush } from '@headgate/effects';
import { MemoryLedger } from '@headgate/effects/conformance';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually, type Forge, fence, key, makeForge, ref } from './forge.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const claimant = fileURLToPath(new URL('./claimant.mjs', import.meta.url));

let forge: Forge;
let ledger: MemoryLedger;
let sha: string;
beforeAll(() =>
  // The claimants run as plain JavaScript.
  promisify(execFile)(process.execPath, [
    join(root, 'node_modules/typescript/bin/tsc'),
    '-b',
    join(root, 'packages/effects'),
  ]),
);
beforeEach(async () => {
  forge = await makeForge();
  ledger = new MemoryLedger(fence);
  sha = await forge.commit('result');
});
afterEach(() => forge.remove());

const input = (as: OperationFence) => ({
  fence: as,
  key,
  gitDir: forge.gitDir,
  commitSha: sha,
  remoteUrl: forge.remote,
  ref,
  expectedOldSha: null,
  settleMs: 300,
});

/** Starts a claimant and serves it the ledger. */
function start(failPoints: string) {
  const child = fork(claimant, [JSON.stringify(input(fence))], {
    execArgv: [],
    env: { PATH: process.env['PATH'], HEADGATE_FAILPOINTS: failPoints },
  });
  child.on('message', (message: { id?: number; verb?: keyof MemoryLedger; input?: never }) => {
    const { id, verb } = message;
    if (id === undefined || verb === undefined) return;
    const call = ledger[verb] as (input: unknown) => Promise<unknown>;
    void call.call(ledger, message.input).then((result) => {
      if (child.connected) child.send({ id, result });
    });
  });
  return child;
}

const succeed = () => performPush({ ...input(ledger.takeOver()), ledger });
const expectOneEffect = async (): Promise<void> => {
  // The remote logs a push behind the update that a successor can see.
  await eventually('the push is logged', async () => (await forge.pushes()).length > 0);
  expect(await forge.pushes()).toEqual([`${'0'.repeat(40)} ${sha} ${ref}`]);
  expect(await forge.headOf(ref)).toBe(sha);
  expect((await ledger.find(key))?.state).toBe('confirmed');
};

describe('a killed claimant', () => {
  it.each(['effects.intended', 'effects.attempted', 'effects.called', 'effects.confirmed'])(
    'INV-EF1: SIGKILL at %s leaves one visible effect after the successor',
    async (point) => {
      const child = start(`${point}=kill`);
      expect((await once(child, 'exit'))[1]).toBe('SIGKILL');
      expect(await succeed()).toMatchObject({ kind: 'confirmed', sha });
      await expectOneEffect();
    },
  );

  it('INV-EF1: SIGKILL while the remote works on the call leaves one visible effect', async () => {
    const begun = join(forge.folder, 'begun');
    const gate = join(forge.folder, 'gate');
    await forge.preReceive(`touch ${begun}; while [ ! -e ${gate} ]; do sleep 0.02; done`);
    const { existsSync } = await import('node:fs');
    const child = start('');
    await eventually('the remote works on it', async () => existsSync(begun));
    child.kill('SIGKILL');
    await once(child, 'exit');
    // The successor reads, sees nothing yet, and waits; meanwhile the remote finishes.
    const successor = performPush({ ...input(ledger.takeOver()), ledger, settleMs: 20_000 });
    await writeFile(gate, '');
    expect(await successor).toMatchObject({ kind: 'confirmed', sha });
    await expectOneEffect();
    expect((await ledger.find(key))?.tries).toBe(1);
  });

  it('a claimant that is left alone finishes', async () => {
    const child = start('');
    const [message] = await once(child, 'message', { signal: AbortSignal.timeout(20_000) });
    expect(message).toMatchObject({ verb: 'intend' });
    expect((await once(child, 'exit'))[0]).toBe(0);
    await expectOneEffect();
  });
});
