/**
 * Which process a number means. Numbers are used again, so an identity is the number, when that process
 * started, and of which boot: what does not match is another process and is left alone.
 */
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessIdentity {
  readonly pid: number;
  /** In kernel ticks since boot; null where there is no /proc. */
  readonly startTicks: string | null;
  readonly bootId: string | null;
}

/** null when there is no such process. */
export function identify(pid: number): ProcessIdentity | null {
  const stat = readStat(pid);
  if (stat !== null) return { pid, startTicks: stat.startTicks, bootId: bootId() };
  if (hasProc) return null;
  return exists(pid) ? { pid, startTicks: null, bootId: null } : null;
}

/** Whether exactly this process still runs; a zombie does not. */
export function isAlive(identity: ProcessIdentity): boolean {
  if (identity.startTicks === null || !hasProc) return exists(identity.pid);
  const stat = readStat(identity.pid);
  return (
    stat !== null &&
    stat.state !== 'Z' &&
    stat.startTicks === identity.startTicks &&
    identity.bootId === bootId()
  );
}

/** Signals the process if it is still the one meant. Gives whether it was there. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isAlive(identity)) return false;
  try {
    process.kill(identity.pid, signal);
    return true;
  } catch {
    return false;
  }
}

/** Children of a process, oldest first. Empty where the kernel does not say. */
export function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .trim()
      .split(' ')
      .filter(Boolean)
      .map(Number);
  } catch {
    return allPids().filter((candidate) => readStat(candidate)?.parent === pid);
  }
}

/** Processes that carry `variable=value` in the environment they were started with. */
export function processesWith(variable: string, value: string): readonly ProcessIdentity[] {
  const needle = Buffer.from(`${variable}=${value}\0`);
  const found: ProcessIdentity[] = [];
  for (const pid of allPids()) {
    try {
      if (!readFileSync(`/proc/${pid}/environ`).includes(needle)) continue;
    } catch {
      continue; // Ended meanwhile, or another user's: then it is not ours.
    }
    const identity = identify(pid);
    if (identity !== null && isAlive(identity)) found.push(identity);
  }
  return found;
}

const hasProc = ((): boolean => {
  try {
    readFileSync('/proc/self/stat');
    return true;
  } catch {
    return false;
  }
})();

let bootIdCache: string | null | undefined;
function bootId(): string | null {
  if (bootIdCache === undefined) {
    try {
      bootIdCache = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    } catch {
      bootIdCache = null;
    }
  }
  return bootIdCache;
}

function readStat(pid: number): { state: string; parent: number; startTicks: string } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the command in brackets and may hold anything; fields count from after it.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', parent: Number(fields[1]), startTicks: fields[19] ?? '' };
  } catch {
    return null;
  }
}

function allPids(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
