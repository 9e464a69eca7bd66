import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { type AttemptFolders, foldersIn, readToolCalls, toolCallsFile } from '@headgate/runtimes';
import { registerSecret } from '@headgate/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Place, place } from './places.js';

let here: Place;
let folders: AttemptFolders;
beforeEach(async () => {
  here = await place();
  folders = foldersIn(here.path);
  await mkdir(folders.output, { recursive: true });
});
afterEach(() => here.remove());

const RAN = { fromMs: Date.parse('2026-01-01T00:00:00Z'), toMs: Date.parse('2026-01-01T00:10:00Z') };
const report = (...lines: readonly unknown[]): Promise<void> =>
  writeFile(
    toolCallsFile(folders),
    lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
  );

describe('what an agent reports of its tool calls', () => {
  it('Q32: is read with its times, its id and its error', async () => {
    await report(
      {
        name: 'edit_file',
        id: '1',
        startedAt: '2026-01-01T00:01:00Z',
        endedAt: '2026-01-01T00:01:02Z',
        error: null,
      },
      { name: 'shell', startedAt: '2026-01-01T00:02:00Z', endedAt: '2026-01-01T00:02:01Z', error: 'Exit' },
    );
    expect(await readToolCalls(folders, RAN)).toEqual({
      calls: [
        {
          name: 'edit_file',
          id: '1',
          startedAtMs: RAN.fromMs + 60_000,
          endedAtMs: RAN.fromMs + 62_000,
          error: null,
        },
        {
          name: 'shell',
          id: null,
          startedAtMs: RAN.fromMs + 120_000,
          endedAtMs: RAN.fromMs + 121_000,
          error: 'Exit',
        },
      ],
      leftOut: 0,
    });
  });

  it('is moved into the time in which the agent ran, and never ends before it begins', async () => {
    await report(
      { name: 'early', startedAt: '1970-01-01T00:00:00Z', endedAt: '2999-01-01T00:00:00Z' },
      { name: 'backwards', startedAt: '2026-01-01T00:05:00Z', endedAt: '2026-01-01T00:04:00Z' },
      { name: 'open', startedAt: '2026-01-01T00:06:00Z' },
    );
    const { calls } = await readToolCalls(folders, RAN);
    expect(
      calls.map(({ startedAtMs, endedAtMs }) => [startedAtMs - RAN.fromMs, endedAtMs - RAN.fromMs]),
    ).toEqual([
      [0, 600_000],
      [300_000, 300_000],
      [360_000, 600_000],
    ]);
  });

  it('counts what it does not understand, keeps so many, and blanks secrets and controls', async () => {
    const forget = registerSecret('tok_of-the-forge');
    const fine = { name: 'a\u001b[31mb tok_of-the-forge', startedAt: '2026-01-01T00:01:00Z' };
    await report('no json', { name: '' }, { name: 'x', startedAt: 'yesterday' }, '[]', fine);
    const read = await readToolCalls(folders, RAN);
    forget();
    expect(read.leftOut).toBe(4);
    expect(read.calls[0]?.name).toBe('a?[31mb [redacted]');
    await report(...Array.from({ length: 1_200 }, () => fine));
    expect(await readToolCalls(folders, RAN)).toMatchObject({ calls: { length: 1_000 }, leftOut: 200 });
  });

  it('follows no link, waits for no pipe, and is no reason to fail', async () => {
    const nothing = { calls: [], leftOut: 0 };
    expect(await readToolCalls(folders, RAN)).toEqual(nothing);
    await symlink('/etc/passwd', toolCallsFile(folders));
    expect(await readToolCalls(folders, RAN)).toEqual(nothing);
    await here.remove();
    await mkdir(folders.output, { recursive: true });
    await promisify(execFile)('mkfifo', [toolCallsFile(folders)]);
    expect(await readToolCalls(folders, RAN)).toEqual(nothing);
  });
});
