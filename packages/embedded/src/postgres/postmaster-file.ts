import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { endProcess } from '../process/end-process.js';
import { identify } from '../process/identity.js';

/** Line 8 of postmaster.pid says what the server is doing; pg_ctl waits for the same word. */
const STATUS_LINE = 7;

/** Whether the server with this pid has finished its recovery and takes connections. */
export function isPostmasterReady(cluster: string, pid: number): boolean {
  const lines = read(cluster);
  return Number(lines[0]) === pid && lines[STATUS_LINE]?.trim() === 'ready';
}

/**
 * Ends a server that still runs on this cluster though nobody claims it, and removes the file that a killed one
 * left: its pid may by now be another process of the same user, at which Postgres would refuse to start.
 */
export async function clearPostmasterFile(cluster: string): Promise<void> {
  const pid = Number(read(cluster)[0]);
  const found = Number.isNaN(pid) ? null : identify(pid);
  if (found?.commandLine.includes('postgres') && found.commandLine.includes(cluster)) {
    await endProcess(found, 'SIGINT');
  }
  rmSync(join(cluster, 'postmaster.pid'), { force: true });
}

function read(cluster: string): readonly string[] {
  try {
    return readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n');
  } catch {
    return [];
  }
}
