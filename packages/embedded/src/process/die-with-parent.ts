import { spawnSync } from 'node:child_process';

let setprivWorks: boolean | undefined;

/**
 * The command that runs `program` so that the kernel signals it when the thread that started it dies, even by
 * SIGKILL. Linux only, by util-linux's setpriv; elsewhere the command as it is, and the pid files must do.
 */
export function dieWithParent(
  program: string,
  args: readonly string[],
  signal: NodeJS.Signals,
): { readonly program: string; readonly args: readonly string[] } {
  setprivWorks ??=
    process.platform === 'linux' && spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true']).status === 0;
  if (!setprivWorks) return { program, args };
  return { program: 'setpriv', args: ['--pdeathsig', signal.replace('SIG', ''), '--', program, ...args] };
}
