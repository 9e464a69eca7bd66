/**
 * Pid files: who runs what in a data folder.
 *
 * `pids/<name>.json` is at once a lock and a note for the next start. It names the owner (the Headgate process
 * that claimed the name) and, once it runs, the server. Both by pid, start time and command line.
 *
 * Who may write: only the owner, after `claim` made the file by a hard link, which one of several rivals wins.
 * What each crash point leaves:
 *   after claim, before the server is noted   a file without a server; the next claim takes it over
 *   while the server runs                     a file whose owner is dead; `endLeftovers` ends the server
 *   after the server ended, before release    a file that names two dead processes; taken over
 * A file whose owner lives is never touched by anybody else.
 */
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDataFolder, writePrivateFile } from '../data-folder.js';
import { EmbeddedError } from '../embedded-error.js';
import { type EmbeddedLogger, silentLogger } from '../logger.js';
import { endProcess } from './end-process.js';
import { identify, isAlive, type ProcessIdentity } from './identity.js';

/** A process to be ended if its owner dies without doing so. */
export interface RecordedProcess extends ProcessIdentity {
  /** A word that its command line must hold, or it is somebody else's. */
  readonly program: string;
  readonly stopSignal: NodeJS.Signals;
}

interface PidFileContent {
  readonly owner: ProcessIdentity;
  readonly process: RecordedProcess | null;
}

/** The right to run one named server in a data folder. */
export interface PidClaim {
  /** Notes the server, so that a later start can end it if we are killed. */
  note(pid: number, program: string, stopSignal: NodeJS.Signals): void;
  /** The server has ended. */
  clear(): void;
  /** Gives the name back. */
  release(): void;
}

/**
 * Claims a name in the data folder, ending what a dead owner left running under it.
 *
 * @throws EmbeddedError IN_USE while a living process holds the name.
 */
export async function claimName(dataDir: string, name: string, logger = silentLogger): Promise<PidClaim> {
  const path = join(openDataFolder(dataDir).pids, `${name}.json`);
  const owner = ourselves();
  for (;;) {
    if (tryCreate(path, { owner, process: null })) break;
    const found = read(path);
    if (found !== null && isAlive(found.owner)) throw inUse(dataDir, name, found.owner);
    if (found?.process) await endRecorded(found.process, name, logger);
    takeAway(path, found);
  }
  const write = (process: RecordedProcess | null) =>
    writePrivateFile(path, JSON.stringify({ owner, process } satisfies PidFileContent));
  return {
    note(pid, program, stopSignal) {
      const who = identify(pid);
      if (who !== null) write({ ...who, program, stopSignal });
    },
    clear: () => write(null),
    release: () => rmSync(path, { force: true }),
  };
}

/** What `endLeftovers` did with one pid file. */
export interface Leftover {
  readonly name: string;
  readonly pid: number | null;
  readonly outcome: 'ended' | 'wasGone' | 'ownerLives';
}

/**
 * After a SIGKILL: ends whatever the folder's pid files still name and whose owner is dead. A pid that now
 * belongs to another program is left alone. What does not stop within `graceMs` (default 10 s) is killed.
 */
export async function endLeftovers(
  dataDir: string,
  options: { readonly logger?: EmbeddedLogger; readonly graceMs?: number } = {},
): Promise<readonly Leftover[]> {
  const { logger = silentLogger, graceMs } = options;
  const folder = openDataFolder(dataDir).pids;
  const leftovers: Leftover[] = [];
  for (const file of readdirSync(folder)) {
    if (!file.endsWith('.json') || file.startsWith('.')) continue;
    const path = join(folder, file);
    const name = file.slice(0, -'.json'.length);
    const found = read(path);
    const pid = found?.process?.pid ?? null;
    if (found !== null && isAlive(found.owner)) {
      leftovers.push({ name, pid, outcome: 'ownerLives' });
      continue;
    }
    const ended = found?.process ? await endRecorded(found.process, name, logger, graceMs) : false;
    takeAway(path, found);
    leftovers.push({ name, pid, outcome: ended ? 'ended' : 'wasGone' });
  }
  return leftovers;
}

async function endRecorded(
  found: RecordedProcess,
  name: string,
  logger: EmbeddedLogger,
  graceMs?: number,
): Promise<boolean> {
  const now = identify(found.pid);
  const isTheSame = now?.startedAt === found.startedAt && now.commandLine.includes(found.program);
  if (!isTheSame) return false;
  logger.warn({ name, pid: found.pid }, 'ending a server that an earlier process left behind');
  await endProcess(found, found.stopSignal, graceMs);
  return true;
}

function ourselves(): ProcessIdentity {
  return identify(process.pid) ?? { pid: process.pid, startedAt: '', commandLine: process.argv.join(' ') };
}

function inUse(dataDir: string, name: string, owner: ProcessIdentity): EmbeddedError {
  return new EmbeddedError(
    'IN_USE',
    `${name} in ${dataDir} is run by process ${owner.pid} (${owner.commandLine}). End it, or set HEADGATE_DATA_DIR to another folder.`,
  );
}

/** Creates the file with its content in one step; false when it exists. */
function tryCreate(path: string, content: PidFileContent): boolean {
  const draft = `${path}.${process.pid}-${process.hrtime.bigint()}`;
  writeFileSync(draft, JSON.stringify(content), { mode: 0o600 });
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Removes a file judged to be stale. A rival may have replaced it since: then what we moved away is theirs,
 * and is put back.
 */
function takeAway(path: string, judged: PidFileContent | null): void {
  const aside = `${path}.${process.pid}-${process.hrtime.bigint()}`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  try {
    const moved = read(aside);
    if (moved !== null && JSON.stringify(moved) !== JSON.stringify(judged)) linkSync(aside, path);
  } finally {
    rmSync(aside, { force: true });
  }
}

function read(path: string): PidFileContent | null {
  try {
    const content: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isPidFileContent(content) ? content : null;
  } catch {
    return null;
  }
}

function isPidFileContent(value: unknown): value is PidFileContent {
  if (typeof value !== 'object' || value === null || !('owner' in value) || !('process' in value))
    return false;
  return isIdentity(value.owner) && (value.process === null || isIdentity(value.process));
}

function isIdentity(value: unknown): value is ProcessIdentity {
  return typeof value === 'object' && value !== null && 'pid' in value && typeof value.pid === 'number';
}
