import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';

/** The code once the process has ended and its output is closed; 128 + n for a signal, 127 if it never started. */
export function exitCodeOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.on('error', () => {
      if (child.pid === undefined) resolve(127);
    });
    child.on('close', (code, signal) => {
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}
