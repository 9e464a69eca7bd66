/**
 * Looks after a running sandbox: what the system does not stop by itself (processor time, disk, and memory where there
 * is no control group) is measured now and then, and ends the sandbox when there is too much of it.
 *
 * One timer for each of the two measurements, the next look after the last has ended. Whoever sees the first excess
 * sets it, once, before anything is killed; so the reason is known when the exit is.
 */

import type { Watch } from '../init.js';
import type { ExceededLimit, SandboxLimits } from '../limits.js';
import { MAX_ENTRIES } from '../limits.js';
import type { ProcessIdentity } from '../process-identity.js';
import type { ControlGroup } from './control-group.js';
import { diskUsage } from './disk-usage.js';
import { usageOfNamespace } from './usage.js';

/** An eater of memory gets so long where there is no control group; reading /proc costs about 1 ms. */
const USAGE_PERIOD_MS = 500;
/** Counting may take a twentieth of the time. */
const DISK_PERIOD_MS = 1_000;
const DISK_REST_FACTOR = 20;

export interface WatchInput {
  readonly init: ProcessIdentity;
  readonly limits: SandboxLimits;
  /** null: there is none, and /proc is read. */
  readonly group: ControlGroup | null;
  /** Its writable folders, as we see them. */
  readonly folders: readonly string[];
  readonly kill: () => void;
}

export function watchLimits(input: WatchInput): Watch {
  const { limits, group } = input;
  const stopping = new AbortController();
  let exceeded: ExceededLimit | null = null;
  let timers: NodeJS.Timeout[] = [];
  const exceed = (limit: ExceededLimit): void => {
    if (exceeded !== null || stopping.signal.aborted) return;
    exceeded = limit;
    input.kill();
  };
  const later = (ms: number, look: () => void): void => {
    if (stopping.signal.aborted) return;
    const timer = setTimeout(() => {
      timers = timers.filter((other) => other !== timer);
      look();
    }, ms);
    timer.unref();
    timers.push(timer);
  };

  const lookAtUsage = (): void => {
    if (group !== null && group.memoryKills() > 0) exceed('memory');
    const usage = usageOfNamespaceOrGroup(input);
    if (usage.memoryBytes > limits.memoryBytes) exceed('memory');
    if (usage.cpuMs > limits.cpuMs) exceed('cpu');
    later(USAGE_PERIOD_MS, lookAtUsage);
  };
  const most = { bytes: limits.diskBytes, entries: MAX_ENTRIES };
  const isDiskExceeded = async (): Promise<boolean> => {
    const usage = await diskUsage(input.folders, most, stopping.signal);
    return usage !== null && (usage.bytes > most.bytes || usage.entries > most.entries);
  };
  const lookAtDisk = async (): Promise<void> => {
    const began = performance.now();
    if (await isDiskExceeded()) exceed('disk');
    later(Math.max(DISK_PERIOD_MS, (performance.now() - began) * DISK_REST_FACTOR), () => void lookAtDisk());
  };
  later(USAGE_PERIOD_MS, lookAtUsage);
  later(DISK_PERIOD_MS, () => void lookAtDisk());

  return {
    stop: async () => {
      // What ended between two looks: the group remembers what the system killed, the disk what was written.
      if (exceeded === null && group !== null && group.memoryKills() > 0) exceeded = 'memory';
      if (exceeded === null && (await isDiskExceeded())) exceeded = 'disk';
      stopping.abort();
      for (const timer of timers) clearTimeout(timer);
      await group?.remove();
      return exceeded;
    },
  };
}

function usageOfNamespaceOrGroup({ init, group }: WatchInput): { memoryBytes: number; cpuMs: number } {
  const cpuMs = group?.cpuMs() ?? null;
  // The system itself holds a group's memory.
  if (group?.limitsMemory === true && cpuMs !== null) return { memoryBytes: 0, cpuMs };
  const usage = usageOfNamespace(init) ?? { memoryBytes: 0, cpuMs: 0 };
  return {
    memoryBytes: group?.limitsMemory === true ? 0 : usage.memoryBytes,
    cpuMs: cpuMs ?? usage.cpuMs,
  };
}
