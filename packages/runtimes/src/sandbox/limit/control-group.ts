/**
 * Control groups: the system's own limits on memory and processes, and its account of processor time. Versions 1 (a
 * tree for each controller) and 2 (one tree) look alike here: some folders to be in, files with limits in them.
 *
 * A group is made below the nearest ancestor of ours in which we may make one and that has the controllers. Version 2
 * allows no group below one that has processes itself, such as a service's own: there it becomes its sibling.
 *
 * Who may write: the worker that made a group; its name carries the worker's process, so that another worker removes
 * what a dead one left (`sweep`), which is empty, since the sandbox died with it.
 */
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { SandboxLimits } from '../limits.js';
import { identify, isAlive } from '../process-identity.js';

type Controller = 'memory' | 'pids' | 'cpu';

/** One folder in which groups can be made, and what it can limit. */
interface Home {
  readonly folder: string;
  readonly version: 1 | 2;
  readonly controllers: readonly Controller[];
}

export interface ControlGroup {
  /** A process that writes its number into these is in the group. */
  readonly joinFiles: readonly string[];
  readonly limitsMemory: boolean;
  /** null: not counted here. */
  cpuMs(): number | null;
  /** How often the system killed for want of memory. */
  memoryKills(): number;
  /** Call when its processes have ended. */
  remove(): Promise<void>;
}

const PREFIX = 'headgate.';
/** A killed process leaves its group a moment after its exit is seen. */
const REMOVE_TRIES = 50;
const REMOVE_PAUSE_MS = 20;

export class ControlGroups {
  readonly #homes: readonly Home[];

  private constructor(homes: readonly Home[]) {
    this.#homes = homes;
  }

  /** Finds, by making one, where groups can be made. `root` and `own` are /sys/fs/cgroup and /proc/self/cgroup. */
  static find(root = '/sys/fs/cgroup', own = read('/proc/self/cgroup')): ControlGroups {
    const homes: Home[] = [];
    const missing = new Set<Controller>(['memory', 'pids', 'cpu']);
    for (const { controllers, path, version } of membershipsIn(own)) {
      const wanted = controllers.filter((controller) => missing.has(controller));
      if (version === 1 && wanted.length === 0) continue;
      for (const mount of mountsOf(root, version, wanted)) {
        const home = homeIn(mount, path, version, wanted.length > 0 ? wanted : [...missing]);
        if (home === null) continue;
        homes.push(home);
        for (const controller of home.controllers) missing.delete(controller);
        break;
      }
    }
    return new ControlGroups(homes);
  }

  limits(controller: Controller): boolean {
    return this.#homes.some((home) => home.controllers.includes(controller));
  }

  /** For the probe's sentence: "memory and pids of version 1"; empty when there are none. */
  get description(): string {
    return this.#homes.map(({ controllers, version }) => `${controllers.join('+')} (v${version})`).join(', ');
  }

  /** null when nothing can be limited this way. */
  make(marker: string, limits: SandboxLimits): ControlGroup | null {
    if (this.#homes.length === 0) return null;
    groupsMade += 1;
    const name = `${PREFIX}${nameOfUs()}.${groupsMade}.${marker.replaceAll(/[^\w-]/g, '_').slice(-64)}`;
    const folders: { readonly folder: string; readonly home: Home }[] = [];
    for (const home of this.#homes) {
      const folder = join(home.folder, name);
      mkdirSync(folder);
      folders.push({ folder, home });
      for (const [file, value] of settingsOf(home, limits)) {
        try {
          writeFileSync(join(folder, file), value);
        } catch (error) {
          if (!OPTIONAL_FILES.has(file)) throw error;
        }
      }
    }
    return groupOf(folders);
  }

  /** Removes what workers that died left behind. */
  sweep(): void {
    for (const { folder } of this.#homes) {
      for (const name of namesIn(folder)) {
        if (name.startsWith(PREFIX) && !isOfLiving(name)) tryRemove(join(folder, name));
      }
    }
  }
}

/** By this process: commands of one attempt share a marker. */
let groupsMade = 0;

/** Swap is not compiled in everywhere, and an old version 1 has no group kill. */
const OPTIONAL_FILES = new Set(['memory.memsw.limit_in_bytes', 'memory.swap.max', 'memory.oom.group']);

function settingsOf({ version, controllers }: Home, limits: SandboxLimits): [file: string, value: string][] {
  const memory = String(limits.memoryBytes);
  const settings: [string, string][] = [];
  if (controllers.includes('memory')) {
    settings.push(
      ...(version === 1
        ? ([
            ['memory.limit_in_bytes', memory],
            ['memory.memsw.limit_in_bytes', memory],
          ] as [string, string][])
        : ([
            ['memory.max', memory],
            ['memory.swap.max', '0'],
            ['memory.oom.group', '1'],
          ] as [string, string][])),
    );
  }
  if (controllers.includes('pids')) settings.push(['pids.max', String(limits.processes)]);
  return settings;
}

function groupOf(folders: readonly { readonly folder: string; readonly home: Home }[]): ControlGroup {
  const of = (controller: Controller) => folders.find(({ home }) => home.controllers.includes(controller));
  const memory = of('memory');
  const cpu = of('cpu');
  return {
    joinFiles: folders.map(({ folder }) => join(folder, 'cgroup.procs')),
    limitsMemory: memory !== undefined,
    cpuMs: () => {
      if (cpu === undefined) return null;
      if (cpu.home.version === 1) return Number(read(join(cpu.folder, 'cpuacct.usage'))) / 1e6;
      return numberAfter('usage_usec', read(join(cpu.folder, 'cpu.stat'))) / 1e3;
    },
    memoryKills: () => {
      if (memory === undefined) return 0;
      const file = memory.home.version === 1 ? 'memory.oom_control' : 'memory.events';
      return numberAfter('oom_kill', read(join(memory.folder, file)));
    },
    remove: async () => {
      for (const { folder } of folders) {
        for (let tries = 0; tries < REMOVE_TRIES; tries += 1) {
          if (await rmdir(folder).then(() => true, isGone)) break;
          await delay(REMOVE_PAUSE_MS);
        }
      }
    },
  };
}

/** A line of /proc/self/cgroup that concerns us: `number:controllers:path`, version 2 without controllers. */
interface Membership {
  readonly version: 1 | 2;
  readonly controllers: readonly Controller[];
  readonly path: string;
}

function membershipsIn(own: string): readonly Membership[] {
  return own.split('\n').flatMap((line): readonly Membership[] => {
    const match = /^\d+:([^:]*):(\/.*)$/.exec(line);
    if (match === null) return [];
    const [, names = '', path = '/'] = match;
    if (names === '') return [{ version: 2, controllers: [], path }];
    const controllers = names.split(',').flatMap((name): Controller[] => {
      if (name === 'memory' || name === 'pids') return [name];
      return name === 'cpuacct' ? ['cpu'] : [];
    });
    return controllers.length === 0 ? [] : [{ version: 1, controllers, path }];
  });
}

function mountsOf(root: string, version: 1 | 2, controllers: readonly Controller[]): readonly string[] {
  if (version === 2) return [root, join(root, 'unified')];
  return controllers
    .flatMap((name) => (name === 'cpu' ? ['cpuacct', 'cpu,cpuacct'] : [name]))
    .map((name) => join(root, name));
}

function homeIn(mount: string, own: string, version: 1 | 2, wanted: readonly Controller[]): Home | null {
  for (let path = join(mount, own); path.length >= mount.length; path = dirname(path)) {
    const controllers = version === 1 ? wanted : controllersBelow(path, wanted);
    if (controllers.length > 0 && canMakeGroup(path, version, controllers)) {
      return { folder: path, version, controllers };
    }
    if (path === mount) return null;
  }
  return null;
}

/** Of version 2: those that groups in this folder have. */
function controllersBelow(folder: string, wanted: readonly Controller[]): readonly Controller[] {
  const enabled = read(join(folder, 'cgroup.subtree_control')).trim().split(' ');
  // Processor time is always counted.
  const found = wanted.filter((controller) => controller === 'cpu' || enabled.includes(controller));
  return found.some((controller) => controller !== 'cpu') ? found : [];
}

const TRIED_LIMITS: SandboxLimits = { memoryBytes: 2 ** 30, cpuMs: 1, processes: 100, diskBytes: 1 };

function canMakeGroup(folder: string, version: 1 | 2, controllers: readonly Controller[]): boolean {
  const tried = join(folder, `${PREFIX}${nameOfUs()}.try`);
  try {
    mkdirSync(tried);
  } catch {
    return false;
  }
  try {
    for (const [file, value] of settingsOf({ folder, version, controllers }, TRIED_LIMITS)) {
      if (!OPTIONAL_FILES.has(file)) writeFileSync(join(tried, file), value);
    }
    return true;
  } catch {
    return false;
  } finally {
    tryRemove(tried);
  }
}

function nameOfUs(): string {
  return `${process.pid}-${identify(process.pid)?.startTicks ?? '0'}`;
}

function isOfLiving(name: string): boolean {
  const [, pid = '', startTicks = ''] = /^headgate\.(\d+)-(\d+)\./.exec(basename(name)) ?? [];
  const bootId = identify(process.pid)?.bootId ?? null;
  return pid !== '' && isAlive({ pid: Number(pid), startTicks, bootId });
}

function numberAfter(word: string, text: string): number {
  return Number(new RegExp(`^${word} (\\d+)`, 'm').exec(text)?.[1] ?? 0);
}

function tryRemove(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // In use, or another worker was faster.
  }
}

const isGone = (error: NodeJS.ErrnoException): boolean => error.code === 'ENOENT';

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
