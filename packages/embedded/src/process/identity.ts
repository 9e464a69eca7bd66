import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Who a process is. A pid alone is not an identity: numbers are reused. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, in a form that is only good for comparing. */
  readonly startedAt: string;
  readonly commandLine: string;
}

/** The process that has this pid now; null when there is none, or only its zombie. */
export function identify(pid: number): ProcessIdentity | null {
  if (!Number.isSafeInteger(pid) || pid <= 0) return null;
  return process.platform === 'linux' ? fromProc(pid) : fromPs(pid);
}

/** Whether that very process still lives. */
export function isAlive(who: Pick<ProcessIdentity, 'pid' | 'startedAt'>): boolean {
  return identify(who.pid)?.startedAt === who.startedAt;
}

/** The children of a process, for killing a whole server at once. Empty where the system does not tell. */
export function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Sends a signal; a process that is gone already is no fault. Returns whether it was there. */
export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw error;
  }
}

function fromProc(pid: number): ProcessIdentity | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name stands in brackets and may hold anything; the fields after the last one are plain.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return null;
    // Field 22 of proc(5): start time in ticks since boot, so the boot belongs to it.
    const startedAt = `${bootId()}:${fields[19] ?? ''}`;
    const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim();
    return { pid, startedAt, commandLine };
  } catch {
    return null;
  }
}

function fromPs(pid: number): ProcessIdentity | null {
  const started = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  const command = spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  if (started.status !== 0 || command.status !== 0) return null;
  return { pid, startedAt: started.stdout.trim(), commandLine: command.stdout.trim() };
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}
