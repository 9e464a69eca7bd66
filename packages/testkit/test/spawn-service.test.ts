import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identify } from '@headgate/embedded';
import { afterAll, describe, expect, test } from 'vitest';
import { eventually, type SpawnedService, spawnService } from '../src/index.js';

const folder = mkdtempSync(join(tmpdir(), 'spawn-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const entry = join(folder, 'service.mjs');
writeFileSync(
  entry,
  `process.on('SIGTERM', () => { console.log('stopping'); process.exit(7); });
   console.log('ready with', process.argv[2], process.env.GIVEN, process.env.VITEST);
   console.error('a complaint');
   if (process.argv[2] === 'short') process.exit(3);
   setInterval(() => process.stdout.write('tick '), 20);`,
);
const start = (word: string) => spawnService({ entry, args: [word], env: { GIVEN: 'given' } });

describe('a spawned service', () => {
  test('gets its arguments and only the environment it was given', async () => {
    const service = await start('long');
    expect((await service.waitForOutput(/ready with (.*)/))[1]).toBe('long given undefined');
    await service.waitForOutput(/a complaint/);
    expect(service.stderr()).toBe('a complaint\n');
  });

  test('tells how it ended when it is asked to stop, and when it is killed', async () => {
    const [asked, killed] = [await start('a'), await start('b')];
    await asked.waitForOutput(/ready/);
    expect(await asked.terminate()).toEqual({ code: 7, signal: null });
    expect(await killed.sigkill()).toEqual({ code: null, signal: 'SIGKILL' });
  });

  test('says nothing while it is frozen and goes on when it is thawed', async () => {
    const service = await start('long');
    await service.waitForOutput(/tick/);
    service.sigstop();
    await eventually(() => stateOf(service.pid) === 'T', { what: 'it is frozen' });
    service.sigcont();
    const before = service.stdout().length;
    await eventually(() => service.stdout().length > before, { what: 'it goes on' });
  });

  test('fails a wait at once, with all it printed, when it ends without the words', async () => {
    const service = await start('short');
    await expect(service.waitForOutput(/never said/)).rejects.toThrow(/ended without[\s\S]*a complaint/);
    expect(await service.exited).toEqual({ code: 3, signal: null });
  });

  let left: SpawnedService | null = null;
  test('is frozen and left behind by this test', async () => {
    left = await start('long');
    await left.waitForOutput(/tick/);
    left.sigstop();
    expect(identify(left.pid)).not.toBeNull();
  });
  test('is gone once its test is over, even if it was frozen', () => {
    expect(left?.hasExited()).toBe(true);
    expect(identify(left?.pid ?? 0)).toBeNull();
  });
});

function stateOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2)[0] ?? '';
}
