/**
 * How a command is tied to the worker's life.
 *
 * `setpriv --pdeathsig KILL` asks the kernel to kill the launched process when the worker dies, even by
 * SIGKILL. A worker that died before the request leaves no such signal, so a guard then looks whether its
 * parent is still the worker. What follows keeps the process number through `exec`.
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Fixed: agents get it too, and it never depends on who started the worker. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

const GUARD = '[ "$PPID" = "$1" ] || exit 125; shift; exec "$@"';

/** The full path of a program on `path`; null when there is none that we may run. */
export function findProgram(name: string, path: string = SYSTEM_PATH): string | null {
  for (const folder of path.split(delimiter)) {
    const file = join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // Next folder.
    }
  }
  return null;
}

/** The command, tied to this process. Without setpriv (not Linux) it is given back as it is. */
export function tiedToUs(argv: readonly string[]): readonly string[] {
  const setpriv = findProgram('setpriv');
  if (setpriv === null) return argv;
  return [
    setpriv,
    '--pdeathsig',
    'KILL',
    '--',
    '/bin/sh',
    '-c',
    GUARD,
    'headgate',
    String(process.pid),
    ...argv,
  ];
}
