/**
 * What the processes of a sandbox use, read from /proc: for machines where we may make no control group. They are those
 * that descend from its init: an orphan's new parent is the first process of its PID namespace, which is init or, where
 * a sandbox lies inside, itself one of its descendants.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { isAlive, type ProcessIdentity } from '../process-identity.js';

export interface Usage {
  readonly memoryBytes: number;
  readonly cpuMs: number;
}

/** Linux counts processor time for user space in hundredths of a second, on every machine. */
const MS_PER_TICK = 10;

/** null when it has ended. */
export function usageBelow(init: ProcessIdentity): Usage | null {
  const processes = new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => {
        const stat = statOf(pid);
        return stat === null ? [] : [[pid, stat] as const];
      }),
  );
  if (!isAlive(init)) return null;
  let cpuMs = 0;
  let memoryBytes = 0;
  for (const pid of descendantsOf(String(init.pid), processes)) {
    cpuMs += processes.get(pid)?.cpuMs ?? 0;
    memoryBytes += memoryOf(pid);
  }
  return { memoryBytes, cpuMs };
}

interface Stat {
  readonly parent: string;
  /** Its own time and that of the children it has waited for: who is waited for by nobody is counted by init. */
  readonly cpuMs: number;
}

/** The process itself included. */
function descendantsOf(root: string, processes: ReadonlyMap<string, Stat>): ReadonlySet<string> {
  const childrenOf = new Map<string, string[]>();
  for (const [pid, { parent }] of processes) {
    const siblings = childrenOf.get(parent);
    if (siblings === undefined) childrenOf.set(parent, [pid]);
    else siblings.push(pid);
  }
  // A set may be added to while it is walked.
  const found = new Set([root]);
  for (const pid of found) for (const child of childrenOf.get(pid) ?? []) found.add(child);
  return found;
}

/** null: it has ended. */
function statOf(pid: string): Stat | null {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === '') return null;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + (Number(fields[index]) || 0), 0);
  return { parent: fields[1] ?? '', cpuMs: ticks * MS_PER_TICK };
}

/** Its share: memory that several processes have in common, shared on purpose or not, is divided between them. */
function memoryOf(pid: string): number {
  const shares = read(`/proc/${pid}/smaps_rollup`).matchAll(/^Pss_(?:Anon|Shmem):\s+(\d+) kB/gm);
  return [...shares].reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
