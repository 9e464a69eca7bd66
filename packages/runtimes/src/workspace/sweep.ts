/**
 * Takes away what dead workers left. Conservative: a folder goes only when its worker is seen to be dead, or
 * when nobody can be named and it is old; a living worker's folder never, however old.
 *
 * Any number of workers may sweep the same folder at once: removing what another is removing is no error.
 */
import { readdir, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '@headgate/domain';
import { foldersIn } from '../paths.js';
import { endMarked } from '../sandbox/end-sandbox.js';
import { ownerState, readOwner } from './owner.js';
import { removeTree } from './remove.js';

export interface SweepInput {
  readonly workspacesDir: string;
  /** For folders whose worker cannot be judged: made on another host, or before their owner was written. */
  readonly olderThanMs: number;
  readonly clock: Clock;
}

export interface SweptWorkspace {
  readonly path: string;
  readonly why: 'worker-dead' | 'old';
  /** Processes of its sandbox that still ran, now ended. */
  readonly processesEnded: number;
}

export async function sweepWorkspaces(input: SweepInput): Promise<readonly SweptWorkspace[]> {
  const swept: SweptWorkspace[] = [];
  for (const run of await namesIn(input.workspacesDir)) {
    const runPath = join(input.workspacesDir, run);
    for (const attempt of await namesIn(runPath)) {
      const path = join(runPath, attempt);
      const found = await sweepOne(path, input);
      if (found !== null) swept.push(found);
    }
    // Only an empty one goes.
    await rmdir(runPath).catch(() => undefined);
  }
  return swept;
}

async function sweepOne(path: string, input: SweepInput): Promise<SweptWorkspace | null> {
  const owner = await readOwner(foldersIn(path).ownerFile);
  const state = owner === null ? 'elsewhere' : ownerState(owner);
  if (state === 'alive') return null;
  if (state === 'elsewhere' && !(await isOld(path, input))) return null;
  const processesEnded = owner === null || state !== 'dead' ? 0 : endMarked(owner.marker);
  await removeTree(path);
  return { path, why: state === 'dead' ? 'worker-dead' : 'old', processesEnded };
}

async function isOld(path: string, input: SweepInput): Promise<boolean> {
  const made = await stat(path).catch(() => null);
  return made !== null && input.clock.now().getTime() - made.mtimeMs >= input.olderThanMs;
}

async function namesIn(path: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}
