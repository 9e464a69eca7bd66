/** What the processes of a PID namespace use, read from /proc: for machines where we may make no control group. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { isAlive, type ProcessIdentity } from '../process-identity.js';

export interface Usage {
  readonly memoryBytes: number;
  readonly cpuMs: number;
}

/** Linux counts processor time for user space in hundredths of a second, on every machine. */
const MS_PER_TICK = 10;

/** null when the namespace has ended. */
export function usageOfNamespace(init: ProcessIdentity): Usage | null {
  const namespace = namespaceOf(init.pid);
  if (namespace === null || !isAlive(init)) return null;
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && namespaceOf(name) === namespace);
  let cpuMs = 0;
  let memoryBytes = 0;
  for (const pid of pids) {
    cpuMs += cpuMsOf(pid);
    memoryBytes += memoryOf(pid);
  }
  return { memoryBytes, cpuMs };
}

function namespaceOf(pid: number | string): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return null; // Ended, or another user's.
  }
}

/** Its own time and that of the children it has waited for: who is waited for by nobody is counted by init. */
function cpuMsOf(pid: string): number {
  const stat = read(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return [11, 12, 13, 14].reduce((sum, index) => sum + (Number(fields[index]) || 0), 0) * MS_PER_TICK;
}

/** Its share: memory that several processes have in common is divided between them. */
function memoryOf(pid: string): number {
  const share = /^Pss_Anon:\s+(\d+) kB/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1];
  return Number(share ?? 0) * 1024;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
