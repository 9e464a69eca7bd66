import { mkdir, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatId } from '@headgate/domain';
import type { LogFile, LogMatches, LogRange, Page } from '@headgate/sdk';
import { artifacts } from '@headgate/store';
import { claimRun, finishRun, seedRun } from '@headgate/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aConsole } from './a-console.js';

async function aRunWithLogs() {
  const test = await aConsole();
  const run = await seedRun(test.store, { tenant: test.tenant });
  const lease = await claimRun(test.store, run);
  const id = formatId('run', run.runId);
  const folder = join(test.context.paths.artifacts, id, '1');
  await mkdir(folder, { recursive: true });
  const write = (name: string, content: string | Buffer) => writeFile(join(folder, name), content);
  const read = (name: string, query: string) =>
    test.json<LogRange>(`/v1/runs/${id}/logs/${name}?attempt=1&${query}`);
  return { test, run, lease, id, folder, write, read };
}

describe('logs of a run', () => {
  it('Q9: are listed in the order in which they are written, also while they are', async () => {
    const { test, lease, id, write } = await aRunWithLogs();
    await write('verify-2.log', 'v2\n');
    await write('verify.log', 'v\n');
    await write('agent.log', 'a\n');
    await write('setup.log', 's\n');
    await write('changes.patch', 'no log');
    await write('secrets.log', 'no worker writes this');
    const list = () => test.json<Page<LogFile>>(`/v1/runs/${id}/logs`);
    const { items } = await list();
    expect(items.map(({ name, step, number }) => [name, step, number])).toEqual([
      ['setup.log', 'setup', 1],
      ['agent.log', 'agent', 1],
      ['verify.log', 'verify', 1],
      ['verify-2.log', 'verify', 2],
    ]);
    expect(items.every((file) => !file.isComplete && file.isHere)).toBe(true);
    await finishRun(test.store, lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' });
    expect((await list()).items.every((file) => file.isComplete)).toBe(true);
  });

  it('Q4: of an attempt on another machine are named, and said to be out of reach', async () => {
    const { test, lease, id } = await aRunWithLogs();
    await test.store.service.use((c) =>
      artifacts.insert(c, { fence: lease.fence, tenantId: test.tenant.id, attemptNo: 1 }, [
        {
          name: 'agent.log',
          path: 'x/1/agent.log',
          bytes: 7,
          sha256: Buffer.alloc(32),
          mediaType: 'text/plain',
        },
      ]),
    );
    const { items } = await test.json<Page<LogFile>>(`/v1/runs/${id}/logs`);
    expect(items).toMatchObject([{ name: 'agent.log', bytes: 7, isHere: false, isComplete: true }]);
    expect((await test.ask(`/v1/runs/${id}/logs/agent.log?attempt=1`)).status).toBe(404);
  });

  it('are read from their end, backwards, and forwards as they grow', async () => {
    const { write, read } = await aRunWithLogs();
    const lines = Array.from({ length: 1_000 }, (_, n) => `line ${n} ✓ ${'x'.repeat(n % 50)}\n`);
    await write('agent.log', lines.join(''));
    const end = await read('agent.log', 'limit=2048');
    expect(end.nextOffset).toBe(end.bytes);
    expect(end.text.endsWith(lines.at(-1) ?? '')).toBe(true);
    expect(lines).toContain(end.text.slice(0, end.text.indexOf('\n') + 1));
    // Backwards to the beginning: every byte once.
    let text = end.text;
    for (let before = end.offset; before > 0; ) {
      const earlier = await read('agent.log', `limit=4096&before=${before}`);
      expect(earlier.nextOffset).toBe(before);
      text = earlier.text + text;
      before = earlier.offset;
    }
    expect(text).toBe(lines.join(''));
    // Forwards: what was written meanwhile.
    await write('agent.log', `${lines.join('')}and more\nhalf`);
    const later = await read('agent.log', `offset=${end.nextOffset}`);
    // The line that is not over waits until it is.
    expect(later.text).toBe('and more\n');
    expect(later.isComplete).toBe(false);
    expect((await read('agent.log', `offset=${later.nextOffset}`)).text).toBe('half');
  });

  it('lose and double no byte, wherever the stretches are cut', async () => {
    const { write, read } = await aRunWithLogs();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: 'grapheme', maxLength: 3_000 }), { maxLength: 12 }),
        fc.boolean(),
        async (parts, endsWithNewline) => {
          const whole = parts.join('\n') + (endsWithNewline ? '\n' : '');
          await write('agent.log', whole);
          let forwards = '';
          for (let at = 0; at < Buffer.byteLength(whole); ) {
            const range = await read('agent.log', `limit=1024&offset=${at}`);
            expect(range.offset).toBe(at);
            expect(range.nextOffset).toBeGreaterThan(at);
            forwards += range.text;
            at = range.nextOffset;
          }
          expect(forwards).toBe(whole);
          let backwards = '';
          for (let before = Buffer.byteLength(whole); before > 0; ) {
            const range = await read('agent.log', `limit=1024&before=${before}`);
            expect(range.nextOffset).toBe(before);
            expect(range.offset).toBeLessThan(before);
            backwards = range.text + backwards;
            before = range.offset;
          }
          expect(backwards).toBe(whole);
        },
      ),
      { numRuns: 25 },
    );
  });

  it('keep their places where bytes are no text: what stands behind them is found where it stands', async () => {
    const { test, id, write, read } = await aRunWithLogs();
    const noise = [0xff, 0xc3, 0x28, 0xe2, 0x9c, 0xf0, 0x9f, 0x80];
    const bytes = fc.array(fc.oneof(fc.constantFrom(...noise, 0x0a), fc.integer({ min: 0, max: 255 })), {
      maxLength: 400,
    });
    await fc.assert(
      fc.asyncProperty(bytes, async (list) => {
        const before = Buffer.from([...list, 0x0a]);
        await write('agent.log', Buffer.concat([before, Buffer.from('the needle ✓\n')]));
        const { text, offset, nextOffset } = await read('agent.log', '');
        expect(Buffer.byteLength(text)).toBe(nextOffset - offset);
        const { items } = await test.json<LogMatches>(
          `/v1/runs/${id}/logs/agent.log/matches?attempt=1&text=the%20needle`,
        );
        expect(items).toEqual([{ offset: before.length, line: 'the needle ✓' }]);
      }),
      { numRuns: 25 },
    );
  });

  it('of 100 MB are read by stretches and searched by parts: no answer holds more than its bound', async () => {
    const { test, id, folder, write, read } = await aRunWithLogs();
    await write('agent.log', 'begin\n');
    // Sparse: zeros, without a newline, up to 100 MB; then the end.
    await truncate(join(folder, 'agent.log'), 100_000_000);
    const end = await read('agent.log', '');
    expect(end.bytes).toBe(100_000_000);
    expect(Buffer.byteLength(end.text)).toBeLessThanOrEqual(262_144);
    const start = await read('agent.log', 'offset=0');
    expect(start.text.startsWith('begin\n')).toBe(true);
    let offset: number | null = 0;
    let answers = 0;
    let found = 0;
    while (offset !== null) {
      const answer: LogMatches = await test.json(
        `/v1/runs/${id}/logs/agent.log/matches?attempt=1&text=BEGIN&offset=${offset}`,
      );
      found += answer.items.length;
      offset = answer.nextOffset;
      answers += 1;
    }
    expect(found).toBe(1);
    expect(answers).toBeGreaterThan(4);
  });

  it('say where a text stands, whatever its case, and go on where one answer ended', async () => {
    const { test, id, write } = await aRunWithLogs();
    const lines = Array.from({ length: 450 }, (_, n) => `✓ line ${n} ${n % 2 === 0 ? 'ERROR' : 'fine'}`);
    await write('agent.log', lines.join('\n'));
    const find = (offset: number) =>
      test.json<LogMatches>(`/v1/runs/${id}/logs/agent.log/matches?attempt=1&text=error&offset=${offset}`);
    const first = await find(0);
    expect(first.items).toHaveLength(200);
    const rest = await find(first.nextOffset ?? 0);
    expect(rest.items).toHaveLength(25);
    expect(rest.nextOffset).toBeNull();
    for (const { offset, line } of [...first.items, ...rest.items]) {
      const range = await test.json<LogRange>(
        `/v1/runs/${id}/logs/agent.log?attempt=1&offset=${offset}&limit=1024`,
      );
      expect(range.text.startsWith(line)).toBe(true);
      expect(line).toContain('ERROR');
    }
  });

  it('are none but a worker’s: no other name, no way out of their folder', async () => {
    const { test, id, folder, write } = await aRunWithLogs();
    await write('changes.patch', 'x');
    await symlink('/etc/passwd', join(folder, 'agent.log'));
    for (const path of [
      'logs/agent.log?attempt=1',
      'logs/changes.patch?attempt=1',
      'logs/..%2f..%2fagent.log?attempt=1',
      'logs/setup.log?attempt=1',
      'logs/agent.log?attempt=2',
    ]) {
      expect((await test.ask(`/v1/runs/${id}/${path}`)).status, path).toBe(404);
    }
    expect((await test.ask(`/v1/runs/${id}/logs/agent.log`)).status).toBe(400);
    expect((await test.ask('/v1/runs/run_00000000000000000000000000/logs')).status).toBe(404);
  });
});
