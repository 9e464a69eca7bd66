/** Who made a workspace: lets a sweep tell the folder of a dead worker from one that is in use. */
import { readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { identify, isAlive, type ProcessIdentity } from '../sandbox/process-identity.js';

export interface WorkspaceOwner {
  readonly host: string;
  readonly worker: ProcessIdentity;
  /** Of the attempt's sandboxes. */
  readonly marker: string;
}

export async function writeOwner(file: string, marker: string): Promise<void> {
  const worker = identify(process.pid) ?? { pid: process.pid, startTicks: null, bootId: null };
  const owner: WorkspaceOwner = { host: hostname(), worker, marker };
  await writeFile(file, `${JSON.stringify(owner)}\n`, { mode: 0o600 });
}

/** null when there is none, or a crash cut it short. */
export async function readOwner(file: string): Promise<WorkspaceOwner | null> {
  try {
    const parsed: unknown = JSON.parse(await readFile(file, 'utf8'));
    return isOwner(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

/** `elsewhere`: made on another host (a shared volume), so nothing can be said. */
export function ownerState(owner: WorkspaceOwner): 'alive' | 'dead' | 'elsewhere' {
  if (owner.host !== hostname()) return 'elsewhere';
  return isAlive(owner.worker) ? 'alive' : 'dead';
}

function isOwner(value: unknown): value is WorkspaceOwner {
  if (typeof value !== 'object' || value === null) return false;
  const { host, worker, marker } = value as Partial<WorkspaceOwner>;
  return (
    typeof host === 'string' &&
    typeof marker === 'string' &&
    marker !== '' &&
    typeof worker === 'object' &&
    worker !== null &&
    Number.isInteger(worker.pid)
  );
}
