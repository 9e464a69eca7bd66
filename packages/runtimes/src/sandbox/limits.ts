/** What one command may use of the machine. Time and output are the runtime's own (`RuntimeLimits`). */

export type LimitName = 'memory' | 'cpu' | 'processes' | 'disk' | 'output';

/**
 * Limits for which a sandbox is ended. A command that may start no further process is told so by the system and
 * goes on, and output is counted by the runtime.
 */
export type ExceededLimit = 'memory' | 'cpu' | 'disk';

export interface SandboxLimits {
  /** Of all its processes together, scratch folders included. */
  readonly memoryBytes: number;
  /** Processor time of all its processes together. */
  readonly cpuMs: number;
  /** Processes and threads at the same time. */
  readonly processes: number;
  /** What lies in its writable folders. */
  readonly diskBytes: number;
}

const GIB = 1024 ** 3;
const HOUR_MS = 3_600_000;

/** Enough for a build of a large project; a quarter of a small machine's memory stays with everybody else. */
export function defaultLimits(machineMemoryBytes: number): SandboxLimits {
  return {
    memoryBytes: Math.min(8 * GIB, Math.floor(machineMemoryBytes * 0.75)),
    cpuMs: 4 * HOUR_MS,
    processes: 2_048,
    diskBytes: 10 * GIB,
  };
}

/** Files and folders in the writable folders: empty ones have no size, but a file system runs out of them. */
export const MAX_ENTRIES = 1_000_000;

/** Size of each scratch folder. It is memory, so it never is more than half of what the command may use. */
export const scratchBytes = (limits: SandboxLimits): number =>
  Math.min(GIB, Math.floor(limits.memoryBytes / 2));
