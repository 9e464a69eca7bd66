import { spawn } from 'node:child_process';

/**
 * A git command of the test itself: no configuration but the repository's, and none of its hooks, so that set-up
 * is not in the record of pushes. Fails loudly; gives its output.
 */
export function git(gitDir: string, args: readonly string[], input?: string): Promise<string> {
  return new Promise((settle, fail) => {
    const child = spawn('git', ['-c', 'core.hooksPath=/dev/null', `--git-dir=${gitDir}`, ...args], {
      env: {
        PATH: process.env['PATH'],
        LC_ALL: 'C',
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CONFIG_GLOBAL: '/dev/null',
      },
    });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    child.on('error', fail);
    child.on('close', (code) => {
      if (code === 0) settle(Buffer.concat(out).toString('utf8'));
      else
        fail(new Error(`git ${args.join(' ')} ended with ${code}: ${Buffer.concat(err).toString('utf8')}`));
    });
    // A command that ends before it has read everything is judged by its exit code.
    child.stdin.on('error', () => {});
    child.stdin.end(input ?? '');
  });
}

export const NO_COMMIT = '0'.repeat(40);
