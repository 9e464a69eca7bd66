import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { followSignals } from '../src/index.js';

let folder = '';
let file = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-signals-'));
  file = join(folder, 'signals.jsonl');
});
afterEach(() => rmSync(folder, { recursive: true }));

const line = (name: string, n: number): string =>
  `${JSON.stringify({ name, pid: 1, monoNs: '1', detail: { n } })}\n`;

describe('following the signals of other processes', () => {
  it('waits for a file that does not exist yet', async () => {
    const waiting = followSignals(file).next('a');
    appendFileSync(file, line('a', 1));
    expect((await waiting).detail).toEqual({ n: 1 });
  });

  it('finds signals that came before it asked, each once, and skips none of another name', async () => {
    appendFileSync(file, line('a', 1) + line('b', 2) + line('a', 3));
    const follower = followSignals(file);
    expect((await follower.next('a')).detail).toEqual({ n: 1 });
    expect((await follower.next('a')).detail).toEqual({ n: 3 });
    expect((await follower.next('b')).detail).toEqual({ n: 2 });
    expect(follower.all()).toHaveLength(3);
  });

  it('takes a line only when it is whole, also when it was cut inside a character', async () => {
    const bytes = Buffer.from(line('ü', 1));
    const cut = bytes.indexOf(0xc3) + 1;
    appendFileSync(file, bytes.subarray(0, cut));
    const follower = followSignals(file);
    expect(follower.all()).toEqual([]);
    appendFileSync(file, bytes.subarray(cut));
    expect((await follower.next('ü')).detail).toEqual({ n: 1 });
  });

  it('fails by its deadline and says what it saw', async () => {
    appendFileSync(file, line('a', 1) + line('b', 1));
    const waiting = followSignals(file).next('a', (signal) => signal.detail['n'] === 2, 20);
    await expect(waiting).rejects.toThrow('No test signal "a" within 20 ms; seen: a, b.');
  });
});
