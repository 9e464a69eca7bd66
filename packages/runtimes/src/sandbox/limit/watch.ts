/**
 * Looks after a running sandbox: what the system does not stop by itself (processor time, disk, and memory where there
 * is no control group) is measured now and then, and ends the sandbox when there is too much of it.
 *
 * Each measurement is a loop of its own; the next look comes after the last has ended. Whoever sees the first excess
 * sets it, once, before anything is killed; so the reason is known when the exit is.
 */

import type { Watch } from '../init.js';
import type { ExceededLimit, SandboxLimits } from '../limits.js';
import { MAX_ENTRIES } from '../limits.js';
import type { ProcessIdentity } from '../process-identity.js';
import type { ControlGroup } from './control-group.js';
import { diskUsage } from './disk-usage.js';
import { usageBelow } from './usage.js';

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
  const looks = new Looks(input.kill);
  looks.repeat(USAGE_PERIOD_MS, async () => {
    if (group !== null && group.memoryKills() > 0) return 'memory';
    const usage = usageOf(input);
    if (usage.memoryBytes > limits.memoryBytes) return 'memory';
    return usage.cpuMs > limits.cpuMs ? 'cpu' : null;
  });
  const isDiskExceeded = repeatDisk(looks, limits, input.folders);
  return {
    stop: async () => {
      // What ended between two looks: the group remembers what the system killed, the disk what was written.
      if (group !== null && group.memoryKills() > 0) looks.found('memory');
      if (looks.exceeded === null && (await isDiskExceeded())) looks.found('disk');
      looks.end();
      await group?.remove();
      return looks.exceeded;
    },
  };
}

/** For sandboxes whose other limits somebody else keeps. */
export function watchDisk(limits: SandboxLimits, folders: readonly string[], kill: () => void): Watch {
  const looks = new Looks(kill);
  const isDiskExceeded = repeatDisk(looks, limits, folders);
  return {
    stop: async () => {
      if (looks.exceeded === null && (await isDiskExceeded())) looks.found('disk');
      looks.end();
      return looks.exceeded;
    },
  };
}

function repeatDisk(looks: Looks, limits: SandboxLimits, folders: readonly string[]): () => Promise<boolean> {
  const most = { bytes: limits.diskBytes, entries: MAX_ENTRIES };
  const isExceeded = async (): Promise<boolean> => {
    const usage = await diskUsage(folders, most, looks.signal);
    return usage !== null && (usage.bytes > most.bytes || usage.entries > most.entries);
  };
  looks.repeat(DISK_PERIOD_MS, async () => ((await isExceeded()) ? 'disk' : null), DISK_REST_FACTOR);
  return isExceeded;
}

/** Looks that are repeated until one finds an excess or the sandbox has ended. */
class Looks {
  readonly #kill: () => void;
  readonly #ending = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  #exceeded: ExceededLimit | null = null;

  constructor(kill: () => void) {
    this.#kill = kill;
  }

  get exceeded(): ExceededLimit | null {
    return this.#exceeded;
  }
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Rests for the period, or for `restFactor` times what the look took. */
  repeat(periodMs: number, look: () => Promise<ExceededLimit | null>, restFactor = 0): void {
    const next = (restMs: number): void => {
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        const began = performance.now();
        void look().then((limit) => {
          if (this.signal.aborted) return;
          if (limit !== null && this.found(limit)) this.#kill();
          else next(Math.max(periodMs, (performance.now() - began) * restFactor));
        });
      }, restMs);
      timer.unref();
      this.#timers.add(timer);
    };
    next(periodMs);
  }

  /** Gives whether it is the first. */
  found(limit: ExceededLimit): boolean {
    if (this.#exceeded !== null) return false;
    this.#exceeded = limit;
    return true;
  }

  end(): void {
    this.#ending.abort();
    for (const timer of this.#timers) clearTimeout(timer);
  }
}

function usageOf({ init, group }: WatchInput): { memoryBytes: number; cpuMs: number } {
  const cpuMs = group?.cpuMs() ?? null;
  // The system itself holds a group's memory.
  if (group?.limitsMemory === true && cpuMs !== null) return { memoryBytes: 0, cpuMs };
  const usage = usageBelow(init) ?? { memoryBytes: 0, cpuMs: 0 };
  return {
    memoryBytes: group?.limitsMemory === true ? 0 : usage.memoryBytes,
    cpuMs: cpuMs ?? usage.cpuMs,
  };
}
