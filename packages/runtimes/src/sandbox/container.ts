/**
 * A container of docker or podman: the command sees an image, its own folders, and no network. For machines whose
 * bubblewrap does not work, or whose agents need another system than the worker's.
 *
 *   worker ─pdeathsig─► client (docker run)      engine ─► init (PID 1 inside) ─► the command
 *                          ▲ watched by guardian ───────────► removes the container
 *
 * The container is the engine's child, not ours, so ending the client ends nothing. Therefore a guardian is started
 * before the client, in a session of its own and outside the container: it waits until the client is gone, whoever
 * ended it, and removes the container. Who dies, and what follows: the command: init ends, the engine takes the rest,
 * the client ends. The worker, or the client: the guardian removes the container within its period. The guardian: only
 * root or our own user could end it; then the container lasts as long as its command.
 *
 * The image is never fetched here: what runs agents is chosen by a person. It needs /bin/sh and env.
 */
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { totalmem } from 'node:os';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { afterLine } from './after-line.js';
import { bindsOf, filesOf } from './bubblewrap/arguments.js';
import { sandboxUserId } from './bubblewrap/sandbox-user.js';
import { exitCodeOf } from './exit-code.js';
import { findProgram, SYSTEM_PATH, tiedToUs } from './launch.js';
import { watchDisk } from './limit/watch.js';
import { defaultLimits, scratchBytes } from './limits.js';
import { relayed } from './network/relayed.js';
import {
  MARKER_VARIABLE,
  type Probe,
  type SandboxProcess,
  type SandboxProvider,
  type SandboxSpec,
  type SandboxStart,
} from './port.js';
import { identify } from './process-identity.js';

export interface ContainerOptions {
  /** The client's name or path. Left out: the first of docker and podman that answers. */
  readonly engine?: string;
  readonly image?: string;
  /** Before `run`: for podman `--runtime`, for docker `--context`. */
  readonly engineArgs?: readonly string[];
}

/** Has Node and git, as the agents of most users need. */
const DEFAULT_IMAGE = 'node:22-bookworm';
/** A daemon that does not answer in this time is as good as none. podman has none and only takes its time. */
const DAEMON_TIMEOUT_MS = 2_000;
const PROBE_TIMEOUT_MS = 15_000;

/** $1 = what says that it stands. Like `init.ts`, but without a descriptor of its own: engines hand none in. */
const INIT = [
  'trap \'[ -z "$child" ] || kill -TERM "$child" 2>/dev/null\' TERM',
  'echo "$1" >&2; shift',
  '"$@" & child=$!',
  'while :; do wait "$child"; code=$?; kill -0 "$child" 2>/dev/null || break; done',
  'exit "$code"',
].join('\n');

/** $1 = owner or empty, then the folders that become its own, `--`, what the guardian runs, the client's argv. */
const LAUNCH = [
  'owner=$1; shift',
  'while [ "$1" != -- ]; do [ -z "$owner" ] || chown -Rh "$owner:$owner" -- "$1"; shift; done; shift',
  'remove=$1; shift',
  'setsid /bin/sh -c \'while kill -0 "$1"; do sleep 0.2; done; eval "exec $2"\' guardian $$ "$remove" </dev/null >/dev/null 2>&1 &',
  'exec "$@"',
].join('\n');

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

export class Container implements SandboxProvider {
  readonly name = 'container';
  readonly isolation = 'container';
  readonly mayRunUntrusted = true;
  readonly hasNetworkList = true;
  readonly #engines: readonly string[];
  readonly #image: string;
  readonly #engineArgs: readonly string[];
  /** The one that works, once the probe has found it. */
  #engine: string | null;

  constructor(options: ContainerOptions = {}) {
    const names = options.engine === undefined ? ['docker', 'podman'] : [options.engine];
    this.#engines = names.flatMap((name) => (name.startsWith('/') ? name : findProgram(name)) ?? []);
    this.#engine = this.#engines[0] ?? null;
    this.#image = options.image ?? DEFAULT_IMAGE;
    this.#engineArgs = options.engineArgs ?? [];
  }

  /** A client alone proves nothing: many machines have docker's, and podman's engine. */
  async probe(): Promise<Probe> {
    let probe: Probe = {
      kind: 'unavailable',
      detail: 'neither docker nor podman is installed',
      remedy: 'apt-get install podman',
    };
    for (const engine of this.#engines) {
      this.#engine = engine;
      probe = await this.#probe(engine);
      if (probe.kind === 'available') break;
    }
    return probe;
  }

  async #probe(engine: string): Promise<Probe> {
    const isPodman = isPodmans(engine);
    const info = await this.#ask(['info'], isPodman ? PROBE_TIMEOUT_MS : DAEMON_TIMEOUT_MS);
    if (info !== null) {
      const remedy = isPodman ? `${engine} info` : 'systemctl start docker';
      return { kind: 'unavailable', detail: `${engine} does not answer: ${info}`, remedy };
    }
    const remedy = `${engine} pull ${this.#image}`;
    const image = await this.#ask(['image', 'inspect', this.#image], PROBE_TIMEOUT_MS);
    if (image !== null)
      return { kind: 'unavailable', detail: `${engine} has no image ${this.#image}`, remedy };
    const tried = await this.#try();
    if (tried !== null)
      return { kind: 'unavailable', detail: tried, remedy: `${engine} run --rm ${this.#image} true` };
    const limits = findProgram('find') === null ? [] : (['disk'] as const);
    return {
      kind: 'available',
      detail: `${engine} with ${this.#image}`,
      limits: ['memory', 'processes', ...limits, 'output'],
    };
  }

  start(given: SandboxSpec): SandboxProcess {
    const spec = imagesNode(relayed(imagesNode(given)));
    const engine = this.#engine;
    if (engine === null) throw new Error('there is no container engine');
    const name = `headgate-${randomBytes(8).toString('hex')}`;
    const ready = randomBytes(16).toString('hex');
    const userId = sandboxUserId(spec.marker);
    const ownPaths = filesOf(spec).writable;
    const client = [
      engine,
      ...this.#engineArgs,
      ...runArguments(spec, { engine, image: this.#image, name, userId }),
    ];
    const [command = '', ...args] = tiedToUs([
      '/bin/sh',
      '-ec',
      LAUNCH,
      'headgate',
      userId === null ? '' : String(userId),
      ...ownPaths,
      '--',
      [engine, ...this.#engineArgs, 'rm', '--force', name].map(quoted).join(' '),
      ...client,
      '/bin/sh',
      '-c',
      INIT,
      'headgate-init',
      ready,
      ...spec.argv,
    ]);
    const child = spawn(command, args, {
      cwd: '/',
      env: { PATH: SYSTEM_PATH, ...engineEnvironment(), [MARKER_VARIABLE]: spec.marker },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { readyAt, rest } = afterLine(child.stderr, ready);
    const ended = exitCodeOf(child);
    const remove = (): Promise<string | null> => this.#ask(['rm', '--force', name]);
    const kill = (): void => {
      child.kill('SIGKILL');
      void remove();
    };
    const limits = { ...defaultLimits(totalmem()), ...spec.limits };
    const watch = watchDisk(limits, ownPaths, kill);
    const started = Promise.race([
      readyAt.then((): SandboxStart => {
        const outer = child.pid === undefined ? null : identify(child.pid);
        const processes = outer === null ? [] : [outer];
        return { kind: 'started', identity: { provider: this.name, marker: spec.marker, processes } };
      }),
      ended.then(
        (code): SandboxStart => ({
          kind: 'start-failed',
          detail: `the container ended with ${code} before it stood`,
        }),
      ),
    ]);
    return {
      stdout: child.stdout,
      stderr: rest,
      started,
      exited: ended.then(async (code) => {
        // The client of a container that was ended by force leaves before the container does.
        await remove();
        const exceeded = await watch.stop();
        return exceeded === null ? { code } : { code, exceeded };
      }),
      terminate: () => void this.#ask(['kill', '--signal', 'TERM', name]),
      kill,
    };
  }

  /** null when it answered well, else what it said. */
  async #ask(args: readonly string[], timeoutMs = 30_000): Promise<string | null> {
    try {
      await promisify(execFile)(this.#engine ?? '', [...this.#engineArgs, ...args], {
        timeout: timeoutMs,
        killSignal: 'SIGKILL',
        env: { PATH: SYSTEM_PATH, ...engineEnvironment() },
        cwd: '/',
      });
      return null;
    } catch (error) {
      const { stderr, message, killed } = error as Error & { stderr?: string; killed?: boolean };
      return killed === true ? `no answer within ${timeoutMs} ms` : (stderr?.trim() ?? '') || message;
    }
  }

  async #try(): Promise<string | null> {
    const files = { writable: [], readOnly: [], scratch: [] };
    const spec = {
      argv: ['/bin/sh', '-c', 'exit 0'],
      cwd: '/',
      env: {},
      marker: `probe-${process.pid}`,
      files,
    };
    const running = this.start(spec);
    let said = '';
    running.stdout.resume();
    running.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8');
    });
    const { code } = await running.exited;
    return code === 0 ? null : said.trim() || `the container ended with ${code}`;
  }
}

/** The image has a Node of its own, elsewhere. */
const imagesNode = (spec: SandboxSpec): SandboxSpec =>
  spec.argv[0] === process.execPath ? { ...spec, argv: ['node', ...spec.argv.slice(1)] } : spec;

const isPodmans = (engine: string): boolean => basename(engine) === 'podman';

interface ContainerRun {
  readonly engine: string;
  readonly image: string;
  readonly name: string;
  /** null: ours. */
  readonly userId: number | null;
}

function runArguments(spec: SandboxSpec, run: ContainerRun): readonly string[] {
  const { image, name, userId } = run;
  const limits = { ...defaultLimits(totalmem()), ...spec.limits };
  const size = scratchBytes(limits);
  const user =
    userId === null ? `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}` : `${userId}:${userId}`;
  const args = ['run', '--rm', '--name', name, '--user', user, '--network', 'none', '--read-only'];
  args.push('--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--hostname', 'sandbox');
  args.push('--memory', String(limits.memoryBytes), '--memory-swap', String(limits.memoryBytes));
  args.push('--pids-limit', String(limits.processes), '--ulimit', 'core=0:0', '--ulimit', 'nofile=4096:4096');
  args.push(
    '--ulimit',
    `nproc=${limits.processes}:${limits.processes}`,
    '--ulimit',
    fileSize(limits.diskBytes),
  );
  // Else podman lays the image's own folder into it, whose mode need not be /tmp's.
  const asAsked = isPodmans(run.engine) ? ',notmpcopyup' : '';
  for (const path of ['/tmp', ...filesOf(spec).scratch]) {
    args.push('--tmpfs', `${path}:rw,exec,nosuid,nodev,mode=1777,size=${size}${asAsked}`);
  }
  for (const { path, isWritable } of bindsOf(spec)) {
    if (/[,"\n]/.test(path))
      throw new Error(`${path} cannot be shown: its name has a comma, a quote or a line's end`);
    args.push('--mount', `type=bind,source=${path},target=${path}${isWritable ? '' : ',readonly'}`);
  }
  args.push('--workdir', spec.cwd, '--entrypoint', '', image);
  // Not by --env: engines and images add variables of their own.
  const env = Object.entries({ ...spec.env, [MARKER_VARIABLE]: spec.marker });
  return [...args, 'env', '-i', ...env.map(([key, value]) => `${key}=${value}`)];
}

const fileSize = (diskBytes: number): string => `fsize=${diskBytes + 1024 * 1024}:${diskBytes + 1024 * 1024}`;

/** Where a client finds its engine and its images: the worker's own business, never the command's. */
function engineEnvironment(): Record<string, string> {
  const names = ['HOME', 'XDG_RUNTIME_DIR', 'DOCKER_HOST', 'DOCKER_CONTEXT', 'CONTAINER_HOST'];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
