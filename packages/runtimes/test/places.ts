/** Folders, repositories and runs for tests. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { RunId } from '@headgate/domain';
import { gitOutput } from '@headgate/git';
import { removeTree } from '../src/workspace/remove.js';

export const root = fileURLToPath(new URL('../../..', import.meta.url));
export const runId = '01890000-0000-7000-8000-000000000001' as RunId;

export interface Place {
  readonly path: string;
  remove(): Promise<void>;
}

export async function place(): Promise<Place> {
  const path = await mkdtemp(join(tmpdir(), 'headgate-runtimes-'));
  return { path, remove: () => removeTree(path) };
}

/** Compiles this package: the example agent and the child processes of tests run as plain JavaScript. */
export async function build(): Promise<void> {
  await promisify(execFile)(process.execPath, [
    join(root, 'node_modules/typescript/bin/tsc'),
    '-b',
    join(root, 'packages/runtimes'),
  ]);
}

/** A bare repository whose `main` has one commit with these files (`name` or `name|mode`). Gives its SHA. */
export async function repositoryOf(path: string, files: Readonly<Record<string, string>>): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await gitOutput({
    cwd: '/',
    args: ['init', '--quiet', '--bare', '--template=', '--initial-branch=main', path],
  });
  const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`;
  const who = 'Test <test@example.invalid> 1700000000 +0000';
  const entries = Object.entries(files).map(([key, text]) => {
    const [name = '', mode = '100644'] = key.split('|');
    return `M ${mode} inline ${JSON.stringify(name)}\n${data(text)}`;
  });
  await gitOutput({
    gitDir: path,
    args: ['fast-import', '--quiet', '--done'],
    stdin: `commit refs/heads/main\nauthor ${who}\ncommitter ${who}\n${data('base\n')}${entries.join('')}done\n`,
  });
  return (await gitOutput({ gitDir: path, args: ['rev-parse', 'refs/heads/main'] })).toString().trim();
}

export async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

/** Polls until `check` gives something; fails after the deadline. */
export async function eventually<T>(
  what: string,
  check: () => Promise<T | null>,
  deadlineMs = 30_000,
): Promise<T> {
  for (const end = Date.now() + deadlineMs; Date.now() < end; await delay(20)) {
    const found = await check();
    if (found !== null) return found;
  }
  throw new Error(`never happened: ${what}`);
}

/** Whether a process runs; a zombie that nobody has collected yet does not. */
export async function runs(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  return stat !== null && !stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z');
}

/** Processes whose command line holds the text. */
export async function processesNamed(text: string): Promise<readonly number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'pid=,args=', '-ww']);
  return stdout
    .split('\n')
    .filter((line) => line.includes(text) && !line.includes('ps -eo'))
    .map((line) => Number.parseInt(line, 10));
}
