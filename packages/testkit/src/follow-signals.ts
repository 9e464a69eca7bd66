/** Waits for the test signals of other processes: the reading side of HEADGATE_SIGNALS_FILE. */
import { closeSync, openSync, readSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { TestSignalLine } from '@headgate/telemetry';

export interface SignalFollower {
  /** The next signal that matches and that no earlier `next` has passed; signals already in the file count. */
  next(
    name: string,
    predicate?: (signal: TestSignalLine) => boolean,
    deadlineMs?: number,
  ): Promise<TestSignalLine>;
  /** Every signal so far. */
  all(): readonly TestSignalLine[];
}

const POLL_MS = 10;
const CHUNK_BYTES = 64 * 1024;

/** `file` need not exist yet. Each name has its own place in the file: waiting for one skips none of another. */
export function followSignals(file: string): SignalFollower {
  const signals: TestSignalLine[] = [];
  const passed = new Map<string, number>();
  let offset = 0;
  let rest = Buffer.alloc(0);

  const readMore = (): void => {
    let fd: number;
    try {
      fd = openSync(file, 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    try {
      const chunk = Buffer.alloc(CHUNK_BYTES);
      for (let count = readSync(fd, chunk, 0, CHUNK_BYTES, offset); count > 0; ) {
        offset += count;
        rest = Buffer.concat([rest, chunk.subarray(0, count)]);
        count = readSync(fd, chunk, 0, CHUNK_BYTES, offset);
      }
    } finally {
      closeSync(fd);
    }
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      signals.push(JSON.parse(rest.subarray(0, end).toString('utf8')) as TestSignalLine);
      rest = rest.subarray(end + 1);
    }
  };

  return {
    all: () => {
      readMore();
      return signals;
    },
    next: async (name, predicate = () => true, deadlineMs = 30_000) => {
      const deadline = performance.now() + deadlineMs;
      let index = passed.get(name) ?? 0;
      for (;;) {
        readMore();
        for (; index < signals.length; index += 1) {
          const signal = signals[index];
          if (signal === undefined || signal.name !== name || !predicate(signal)) continue;
          passed.set(name, index + 1);
          return signal;
        }
        if (performance.now() > deadline) {
          const names = [...new Set(signals.map((signal) => signal.name))].join(', ') || 'none';
          throw new Error(`No test signal "${name}" within ${deadlineMs} ms; seen: ${names}.`);
        }
        await wait(POLL_MS);
      }
    },
  };
}
