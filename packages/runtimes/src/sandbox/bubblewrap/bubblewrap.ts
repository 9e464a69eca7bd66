/**
 * bubblewrap: the command sees an allow-list of files (`allow-list.ts`), no network, no other process, no user of this
 * machine, and has no way to become anybody else. It may run what others wrote.
 *
 *   worker ─pdeathsig─► bwrap ─pdeathsig (--die-with-parent)─► init (PID 1 inside) ─► limits ─► the command
 *
 * Who dies, and what follows: the command: init ends with its code, the kernel takes the rest. Init: the same. bwrap:
 * the kernel kills init. The worker: the kernel kills bwrap. So nothing survives in any order; what stays are empty
 * control groups, which the next worker removes, and the attempt's folders, which the sweep removes.
 *
 * Limits: a control group where we may make one (memory, processes, processor time), else the system's limits for
 * each process and a look at all of them twice a second; disk is counted while the command runs (`limit/`).
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { promisify } from 'node:util';
import { removeTree } from '../../workspace/remove.js';
import { systemFiles } from '../allow-list.js';
import { holdInit, initArgv } from '../init.js';
import { findProgram, SYSTEM_PATH } from '../launch.js';
import { ControlGroups } from '../limit/control-group.js';
import { watchLimits } from '../limit/watch.js';
import { defaultLimits, type LimitName, type SandboxLimits, scratchBytes } from '../limits.js';
import { relayed } from '../network/relayed.js';
import {
  MARKER_VARIABLE,
  type Probe,
  type SandboxProcess,
  type SandboxProvider,
  type SandboxSpec,
} from '../port.js';
import { spawnAlone } from '../spawn-alone.js';
import { type Bind, bindsOf, bubblewrapArguments, SETTING_FILES } from './arguments.js';
import { launchChain } from './launch-chain.js';
import { machineFacts, OLD_VERSION_REMEDY, remedyFor } from './remedy.js';
import { sandboxUserId } from './sandbox-user.js';
import { systemCallFilter } from './system-call-filter.js';

/** Options that not every version has; all came with 0.8 or before. */
const NEEDED_OPTIONS = ['--disable-userns', '--size', '--perms', '--clearenv', '--seccomp'];
const PROBE_TIMEOUT_MS = 10_000;

/** Descriptors 0 to 2 are the usual ones, 3 is init's. */
const ARGUMENTS_FD = 4;
const FIRST_SETTING_FD = 5;
const FILTER_FD = FIRST_SETTING_FD + SETTING_FILES.length;

/** A sandbox of somebody else's that runs inside this one. */
export interface InnerSandbox {
  /** Of the provider that both make together. */
  readonly name: string;
  /** How many there may be, ours included: none may be left for the command. */
  readonly userNamespaces: number;
  /** Processes and threads that it has beside the command's. */
  readonly processes: number;
  /** The limits are those of each process, as words before the command. */
  confine(spec: SandboxSpec, processLimits: readonly string[]): SandboxSpec;
}

export interface BubblewrapOptions {
  /** false leaves memory and processes to the limits of each process, as where no group can be made. */
  readonly controlGroups?: boolean;
  readonly inner?: InnerSandbox;
}

export class Bubblewrap implements SandboxProvider {
  readonly name = 'bubblewrap';
  readonly isolation = 'bubblewrap';
  readonly mayRunUntrusted = true;
  readonly hasNetworkList = true;
  readonly #inner: InnerSandbox | null;
  #groups: ControlGroups | null;

  constructor(options: BubblewrapOptions = {}) {
    this.#inner = options.inner ?? null;
    this.#groups = options.controlGroups === false ? null : ControlGroups.find();
  }

  async probe(): Promise<Probe> {
    const bwrap = findProgram('bwrap');
    if (bwrap === null) {
      const remedy = remedyFor(machineFacts(null));
      return { kind: 'unavailable', detail: 'bubblewrap is not installed', remedy };
    }
    if (findProgram('setpriv') === null) {
      const detail = 'setpriv of util-linux is not installed';
      return { kind: 'unavailable', detail, remedy: 'apt-get install util-linux' };
    }
    const help = await promisify(execFile)(bwrap, ['--help']).catch(() => ({ stdout: '' }));
    const lacks = NEEDED_OPTIONS.filter((option) => !help.stdout.includes(option));
    if (lacks.length > 0) {
      return {
        kind: 'unavailable',
        detail: `this bubblewrap is too old: it has no ${lacks.join(', ')}`,
        remedy: OLD_VERSION_REMEDY,
      };
    }
    this.#groups?.sweep();
    let tried = await this.#try();
    if (tried !== null && this.#groups !== null) {
      // Groups can be made here and yet not be joined: then without.
      const groups = this.#groups;
      this.#groups = null;
      tried = await this.#try();
      if (tried !== null) this.#groups = groups;
    }
    if (tried !== null) return { kind: 'unavailable', detail: tried, remedy: remedyFor(machineFacts(tried)) };
    const groups = this.#groups?.description ?? '';
    return {
      kind: 'available',
      detail: `bubblewrap as ${process.getuid?.() === 0 ? 'a user of its own' : 'this user'}; ${
        groups === ''
          ? 'no control groups: limits are those of each process, and measured'
          : `control groups: ${groups}`
      }`,
      limits: this.#limits(),
    };
  }

  start(given: SandboxSpec): SandboxProcess {
    const limits = { ...defaultLimits(totalmem()), ...given.limits };
    const processLimits = this.#processLimits(limits);
    const inner = this.#inner;
    // The relay stands outside a sandbox in the sandbox: it needs a Unix socket, and no command may end it.
    const spec = relayed(inner === null ? given : inner.confine(given, processLimits));
    const binds = bindsOf(spec);
    const ownPaths = binds.filter((bind) => bind.isWritable).map((bind) => bind.path);
    const system = systemFiles();
    const all = { ...limits, processes: limits.processes + (inner?.processes ?? 0) };
    const group = this.#groups?.make(spec.marker, all) ?? null;
    const filter = systemCallFilter({ hasMemoryGroup: group?.limitsMemory === true });
    try {
      const args = (sources: readonly string[]): readonly string[] =>
        bubblewrapArguments({
          spec,
          system,
          binds,
          sources,
          scratchBytes: scratchBytes(limits),
          allowsUserNamespaces: inner !== null,
          settingFds: SETTING_FILES.map((_, index) => FIRST_SETTING_FD + index),
          filterFd: filter === null ? null : FILTER_FD,
        });
      const init = initArgv(inner === null ? [...processLimits, ...spec.argv] : spec.argv);
      const bwrap = [findProgram('bwrap') ?? 'bwrap', '--args', String(ARGUMENTS_FD), '--', ...init];
      const chain = launchChain(
        {
          paths: binds.map((bind: Bind) => bind.path),
          ownPaths,
          joinFiles: group?.joinFiles ?? [],
          userId: sandboxUserId(spec.marker),
          userNamespaces: inner?.userNamespaces ?? null,
        },
        () => bwrap,
      );
      const child = spawnAlone(chain.argv, {
        cwd: '/',
        env: { PATH: SYSTEM_PATH, [MARKER_VARIABLE]: spec.marker },
        stdio: [
          'ignore',
          'pipe',
          'pipe',
          'pipe',
          'pipe',
          ...SETTING_FILES.map(() => 'pipe' as const),
          'pipe',
        ],
      });
      hand(
        child.stdio[ARGUMENTS_FD],
        args(chain.sources)
          .map((arg) => `${arg}\0`)
          .join(''),
      );
      SETTING_FILES.forEach(({ text }, index) => {
        hand(child.stdio[FIRST_SETTING_FD + index], text(spec.env['HOME'] ?? '/'));
      });
      hand(child.stdio[FILTER_FD], filter ?? '');
      const running = holdInit(child, inner?.name ?? this.name, spec.marker, (init, kill) =>
        watchLimits({ init, limits, group, folders: ownPaths, kill }),
      );
      void running.started.then(async (start) => {
        if (start.kind === 'start-failed') await group?.remove();
      });
      return running;
    } catch (error) {
      void group?.remove();
      throw error;
    }
  }

  /** Of each process, over and above what a control group does for all of them. */
  #processLimits(limits: SandboxLimits): readonly string[] {
    const prlimit = findProgram('prlimit');
    if (prlimit === null) return [];
    return [
      prlimit,
      `--nproc=${limits.processes}`,
      // A little more than what the watch ends it for, so that it is the watch that says why.
      `--cpu=${Math.ceil(limits.cpuMs / 1000) + 10}`,
      `--fsize=${limits.diskBytes + 1024 * 1024}`,
      '--core=0',
      // Writable memory of its own, not address space: Node and the JVM reserve far more of that than they use.
      ...(this.#groups?.limits('memory') === true ? [] : [`--data=${limits.memoryBytes}`]),
      '--',
    ];
  }

  #limits(): readonly LimitName[] {
    const hasPrlimit = findProgram('prlimit') !== null;
    const hasFilter = systemCallFilter({ hasMemoryGroup: false }) !== null;
    const holds: Readonly<Record<LimitName, boolean>> = {
      // By measuring it holds only where nobody can have memory that belongs to no process.
      memory: this.#groups?.limits('memory') === true || (this.#inner === null && hasFilter),
      cpu: true,
      processes: hasPrlimit || this.#groups?.limits('pids') === true,
      disk: hasPrlimit && findProgram('find') !== null,
      output: true,
    };
    return (Object.keys(holds) as LimitName[]).filter((name) => holds[name]);
  }

  /** Runs a command as agents are run, in a folder that only we may enter. null: it worked, else what was said. */
  async #try(): Promise<string | null> {
    const folder = await mkdtemp(join(tmpdir(), 'headgate-probe-'));
    try {
      const workspace = join(folder, 'workspace');
      await mkdir(workspace);
      const running = this.start({
        // So few that it would fail if processes of others were counted.
        argv: ['/bin/sh', '-c', 'touch written && /bin/true && echo held'],
        limits: { processes: PROBE_PROCESSES },
        cwd: workspace,
        env: { PATH: SYSTEM_PATH, HOME: join(folder, 'home') },
        marker: `probe-${process.pid}-${folder}`,
        files: { writable: [workspace], readOnly: [], scratch: [join(folder, 'home')] },
      });
      let said = '';
      const listen = (chunk: Buffer): void => {
        said += chunk.toString('utf8');
      };
      running.stdout.on('data', listen);
      running.stderr.on('data', listen);
      const timer = setTimeout(() => running.kill(), PROBE_TIMEOUT_MS);
      const { code } = await running.exited;
      clearTimeout(timer);
      if (code === 0 && said === 'held\n') return null;
      return said.trim() === '' ? `bubblewrap ended with ${code}` : said.trim();
    } finally {
      await removeTree(folder);
    }
  }
}

const PROBE_PROCESSES = 8;

function hand(pipe: unknown, content: string | Buffer): void {
  const writable = pipe as Writable;
  writable.on('error', () => {
    // It ended before it read this; its exit says so.
  });
  writable.end(content);
}
