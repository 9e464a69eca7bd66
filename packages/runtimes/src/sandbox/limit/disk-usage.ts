/**
 * How much lies in folders that an agent writes to while it does: counted by a program of the system, for the folders
 * may hold a million files. Names and contents are never read.
 *
 * Of files that were deleted and are still open nothing is seen; each is held by the limit on a single file's size.
 */
import { spawn } from 'node:child_process';
import { findProgram } from '../launch.js';

export interface DiskUsage {
  readonly bytes: number;
  readonly entries: number;
}

/** `-printf` is GNU's; without it there is no limit on disk. */
const COUNT = ['-xdev', '-printf', '%b\\n'];
const BLOCK_BYTES = 512;

/** Counts no further than `most`. null when it was stopped, or nothing could be counted. */
export function diskUsage(
  folders: readonly string[],
  most: DiskUsage,
  signal: AbortSignal,
): Promise<DiskUsage | null> {
  const find = findProgram('find');
  if (find === null || folders.length === 0) return Promise.resolve(null);
  return new Promise((resolve) => {
    const [command = '', ...args] = [...reader(), find, ...folders, ...COUNT];
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'], env: {}, cwd: '/' });
    let bytes = 0;
    let entries = 0;
    let rest = '';
    child.stdout.setEncoding('latin1').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      entries += lines.length;
      for (const line of lines) bytes += Number(line) * BLOCK_BYTES;
      if (bytes > most.bytes || entries > most.entries) child.kill('SIGKILL');
    });
    const stop = (): void => {
      child.kill('SIGKILL');
    };
    signal.addEventListener('abort', stop, { once: true });
    child.on('error', () => resolve(null));
    // Files that vanish meanwhile make it end with an error: what it counted stands.
    child.on('close', () => {
      signal.removeEventListener('abort', stop);
      resolve(signal.aborted || entries === 0 ? null : { bytes, entries });
    });
  });
}

/** An agent that is the same user as we are could close a folder to us; as root of a user namespace we get in. */
function reader(): readonly string[] {
  const unshare = process.getuid?.() === 0 ? null : findProgram('unshare');
  return unshare === null ? [] : [unshare, '--map-root-user', '--'];
}
