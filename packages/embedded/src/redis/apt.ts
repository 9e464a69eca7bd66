/**
 * A private Redis from the distribution's own archive, on Debian and Ubuntu: downloaded with list, cache and
 * configuration folders of our own and unpacked into the data folder. Needs no root, installs nothing, runs no
 * package script and no apt hook.
 *
 * Everything happens in `draft`; `root` appears by a rename once the server in it has run. A crash leaves a
 * draft, which the next try erases.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type { RedisBinary } from './binary.js';

const run = promisify(execFile);

/** Archives may be far away; a start without Redis is better than one that hangs. */
const APT_WITHIN_MS = 90_000;
/** Either speaks the protocol; which one there is depends on the release. */
const PACKAGES = ['redis-server', 'valkey-server'] as const;

export interface AptOptions {
  /** Where it is kept; must be ours alone. */
  readonly folder: string;
  /** What the system has installed already, and so is not fetched. Default: dpkg's own. */
  readonly dpkgStatusFile?: string;
  /** Where apt-get, apt-config and dpkg are looked for. Default: PATH. */
  readonly path?: string;
}

export type AptOutcome =
  | { readonly kind: 'fetched'; readonly binary: RedisBinary }
  | { readonly kind: 'failed'; readonly why: string };

/** What an earlier `fetchRedisByApt` left here. */
export function fetchedRedis(folder: string): RedisBinary | null {
  return binaryIn(join(folder, 'root'));
}

/** Fetches a server and the libraries it needs and this system lacks. Never throws: Redis is optional. */
export async function fetchRedisByApt(options: AptOptions): Promise<AptOutcome> {
  const path = options.path ?? process.env['PATH'] ?? '';
  const absent = ['apt-get', 'apt-config', 'dpkg'].find((name) => !isOnPath(name, path));
  if (absent) return { kind: 'failed', why: `${absent} is not here` };
  const tools: NodeJS.ProcessEnv = { ...process.env, PATH: path, LC_ALL: 'C' };
  const draft = join(options.folder, 'draft');
  try {
    rmSync(draft, { recursive: true, force: true });
    const apt = await privateApt(draft, options.dpkgStatusFile ?? '/var/lib/dpkg/status', tools);
    // One unreachable archive of several must not stop us; what is missing shows in the next step.
    await apt(['update']).catch(() => {});
    const missing = await firstInstallable(apt);
    await apt(['download', ...missing], join(draft, 'packages'));
    for (const file of readdirSync(join(draft, 'packages'))) {
      await run('dpkg', ['-x', join(draft, 'packages', file), join(draft, 'root')], { env: tools });
    }
    const binary = binaryIn(join(draft, 'root'));
    if (binary === null) return { kind: 'failed', why: `no server in ${missing.join(', ')}` };
    await run(binary.program, ['--version'], { env: { ...process.env, ...binary.env } });
    rmSync(join(options.folder, 'root'), { recursive: true, force: true });
    renameSync(join(draft, 'root'), join(options.folder, 'root'));
    const kept = binaryIn(join(options.folder, 'root'));
    return kept ? { kind: 'fetched', binary: kept } : { kind: 'failed', why: 'unpacked files have gone' };
  } catch (error) {
    return { kind: 'failed', why: lastLine(error) };
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

type Apt = (args: readonly string[], cwd?: string) => Promise<string>;

/** apt-get with the system's sources, proxies and keys, but none of its hooks and none of its folders. */
async function privateApt(draft: string, statusFile: string, tools: NodeJS.ProcessEnv): Promise<Apt> {
  for (const part of ['lists/partial', 'cache/archives/partial', 'packages', 'root', 'etc']) {
    mkdirSync(join(draft, part), { recursive: true, mode: 0o700 });
  }
  const dump = await run('apt-config', ['dump'], { env: tools });
  const kept = dump.stdout
    .split('\n')
    .filter((line) => !/Invoke|Pre-Install-Pkgs|^Dir::Etc::(main|parts) /i.test(line));
  const ours = {
    'Dir::Etc::main': '/dev/null',
    'Dir::Etc::parts': '/dev/null',
    'Dir::State::lists': join(draft, 'lists'),
    'Dir::State::status': statusFile,
    'Dir::Cache': join(draft, 'cache'),
    'Dir::Cache::archives': join(draft, 'cache/archives'),
    'Dir::Log': join(draft, 'cache'),
    // As root apt would drop to a user that cannot enter our folder.
    'APT::Sandbox::User': '',
    'Debug::NoLocking': 'true',
    'Acquire::Retries': '1',
    'Acquire::http::Timeout': '15',
    'Acquire::https::Timeout': '15',
  };
  const lines = Object.entries(ours).map(([name, value]) => `${name} "${value}";`);
  const file = join(draft, 'etc/apt.conf');
  writeFileSync(file, `${[...kept, ...lines].join('\n')}\n`);
  return async (args, cwd = draft) => {
    const { stdout } = await run('apt-get', ['-q', '-y', ...args], {
      cwd,
      env: { ...tools, APT_CONFIG: file, DEBIAN_FRONTEND: 'noninteractive' },
      timeout: APT_WITHIN_MS,
      maxBuffer: 16 * 1024 * 1024,
    });
    return stdout;
  };
}

/** The packages that an installation would add, by a dry run of it. */
async function firstInstallable(apt: Apt): Promise<readonly string[]> {
  const refused: string[] = [];
  for (const name of PACKAGES) {
    try {
      const plan = await apt(['--simulate', '--no-install-recommends', 'install', name]);
      const added = [...plan.matchAll(/^Inst (\S+)/gm)].map((match) => match[1] ?? '');
      if (added.length > 0) return added;
      refused.push(`${name} counts as installed, yet its server is not on the PATH`);
    } catch (error) {
      refused.push(lastLine(error));
    }
  }
  throw new Error(refused.join(' '));
}

function binaryIn(root: string): RedisBinary | null {
  const program = PACKAGES.map((name) => join(root, 'usr/bin', name)).find((path) => existsSync(path));
  if (program === undefined) return null;
  const libraries = ['usr/lib', 'lib']
    .map((folder) => join(root, folder))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => [folder, ...foldersIn(folder)]);
  return { program, env: { LD_LIBRARY_PATH: libraries.join(':') }, from: 'apt' };
}

function isOnPath(name: string, path: string): boolean {
  return path
    .split(delimiter)
    .filter(Boolean)
    .some((folder) => existsSync(join(folder, name)));
}

function foldersIn(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(folder, entry.name));
}

function lastLine(error: unknown): string {
  const said =
    error instanceof Error && 'stderr' in error && typeof error.stderr === 'string' ? error.stderr : '';
  const lines = said.split('\n').filter((line) => /^(E|W|dpkg|.*error)/.test(line));
  return lines.at(-1) ?? (error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error));
}
