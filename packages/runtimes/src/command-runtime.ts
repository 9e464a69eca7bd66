/**
 * Runs one command under limits and keeps its log.
 *
 * The first reason to stop wins: a command that is stopped for silence and then exits with 0 was silent. Every
 * ending goes the same way: ask, wait the grace, kill all of it, wait until the output is closed.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '@headgate/domain';
import { systemClock } from '@headgate/domain';
import { LogArtifact } from './log-artifact.js';
import { filesOfAttempt } from './paths.js';
import type { Runtime, RuntimeInput, RuntimeLimits, RuntimeOutcome, RuntimeResult } from './runtime.js';
import type { SandboxLimits } from './sandbox/limits.js';
import { EgressProxy, type NetworkRefusal } from './sandbox/network/egress-proxy.js';
import type { SandboxProcess, SandboxProvider, SandboxSpec } from './sandbox/port.js';

export const GRACE_MS = 5_000;

export class CommandRuntime implements Runtime {
  readonly name = 'command';
  readonly #sandbox: SandboxProvider;
  readonly #clock: Clock;

  constructor(sandbox: SandboxProvider, clock: Clock = systemClock) {
    this.#sandbox = sandbox;
    this.#clock = clock;
  }

  async run(input: RuntimeInput): Promise<RuntimeResult> {
    const nothing = { logPath: null, outputBytes: 0, tail: '', wallMs: 0 };
    if (!input.isTrusted && !this.#sandbox.mayRunUntrusted) {
      return { kind: 'refused', reasonCode: 'NO_ISOLATION', detail: noIsolation(this.#sandbox), ...nothing };
    }
    if (input.signal.aborted) return { kind: 'killed', ...nothing };
    const startedMs = this.#clock.monotonicMs();
    const log = await LogArtifact.open(input.logPath, input.limits.outputBytes, input.redactLine);
    const outcome = await this.#withNetwork(input, log);
    const wallMs = Math.round(this.#clock.monotonicMs() - startedMs);
    await log.close(describeOutcome(outcome));
    return { ...outcome, logPath: log.path, outputBytes: log.receivedBytes, tail: log.tail, wallMs };
  }

  /** The proxy stands before the command starts, and is gone when the command is. */
  async #withNetwork(input: RuntimeInput, log: LogArtifact): Promise<RuntimeOutcome> {
    const { network } = input;
    if (network === undefined || network.rules.length === 0)
      return superviseCommand(this.#sandbox, input, log);
    if (!this.#sandbox.hasNetworkList) {
      return {
        kind: 'start-failed',
        detail: `${this.#sandbox.name} cannot keep a command to a network list`,
      };
    }
    const refusals = new RefusalLog(log);
    const proxySocket = join(network.folder, `egress-${randomBytes(6).toString('hex')}.sock`);
    const proxy = await EgressProxy.start({
      socketPath: proxySocket,
      rules: network.rules,
      onRefused: (refusal) => refusals.add(refusal),
    });
    try {
      return await superviseCommand(this.#sandbox, input, log, proxySocket);
    } finally {
      await proxy.close();
      refusals.end();
    }
  }
}

/** Lines for refusals that one command gets; the rest is counted. */
const MAX_REFUSAL_LINES = 1_000;
const MAX_HOST_CHARACTERS = 300;

/** Each connection that was not let through, in the command's log. */
class RefusalLog {
  readonly #log: LogArtifact;
  #count = 0;

  constructor(log: LogArtifact) {
    this.#log = log;
  }

  add({ host, why }: NetworkRefusal): void {
    this.#count += 1;
    if (this.#count > MAX_REFUSAL_LINES) return;
    this.#log.note(`network: ${JSON.stringify(host.slice(0, MAX_HOST_CHARACTERS))} was refused: ${why}`);
  }

  end(): void {
    const more = this.#count - MAX_REFUSAL_LINES;
    if (more > 0) this.#log.note(`network: ${more} more were refused`);
  }
}

async function superviseCommand(
  sandbox: SandboxProvider,
  input: RuntimeInput,
  log: LogArtifact,
  proxySocket?: string,
): Promise<RuntimeOutcome> {
  const { limits, signal, graceMs = GRACE_MS } = input;
  let process: SandboxProcess;
  try {
    process = sandbox.start(specOf(input, proxySocket));
  } catch (error) {
    return { kind: 'start-failed', detail: error instanceof Error ? error.message : String(error) };
  }

  let stopped: RuntimeOutcome | null = null;
  const timers = new Set<NodeJS.Timeout>();
  const after = (ms: number, act: () => void): NodeJS.Timeout => {
    // Longer than the largest timer fires at once; 24 days is as good as never.
    const timer = setTimeout(act, Math.min(ms, 2 ** 31 - 1));
    timers.add(timer);
    return timer;
  };
  const stop = (because: RuntimeOutcome): void => {
    if (stopped !== null) return;
    stopped = because;
    process.terminate();
    after(graceMs, () => process.kill());
  };
  const onAbort = (): void => stop({ kind: 'killed' });
  signal.addEventListener('abort', onAbort, { once: true });

  after(limits.wallClockMs, () => stop({ kind: 'timeout', which: 'wall-clock' }));
  const silence = after(limits.silenceMs, () => stop({ kind: 'timeout', which: 'silence' }));
  const start = after(limits.sandboxStartMs, () => {
    stop({ kind: 'timeout', which: 'sandbox-start' });
    process.kill();
  });
  for (const [name, stream] of [
    ['stdout', process.stdout],
    ['stderr', process.stderr],
  ] as const) {
    stream.on('data', (chunk: Buffer) => {
      silence.refresh();
      const goOn = log.write(name, chunk);
      if (log.isOverLimit) {
        stop({ kind: 'output-limit', limitBytes: limits.outputBytes });
        process.kill();
      } else if (!goOn) {
        stream.pause();
        void log.drained().then(() => stream.resume());
      }
    });
    stream.on('error', () => {
      // The far end is gone; `exited` says how.
    });
  }

  try {
    const started = await process.started;
    clearTimeout(start);
    silence.refresh();
    if (started.kind === 'start-failed') {
      process.kill();
      return stopped ?? started;
    }
    input.onStarted?.(started.identity);
    if (signal.aborted) onAbort();
    const { code, exceeded } = await process.exited;
    if (stopped !== null) return stopped;
    return exceeded === undefined ? { kind: 'exited', code } : { kind: 'resource-limit', which: exceeded };
  } finally {
    signal.removeEventListener('abort', onAbort);
    for (const timer of timers) clearTimeout(timer);
  }
}

function describeOutcome(outcome: RuntimeOutcome): string | null {
  switch (outcome.kind) {
    case 'exited':
      return `exited with ${outcome.code}`;
    case 'timeout':
      return `stopped: ${outcome.which} limit`;
    case 'output-limit':
      return `stopped: more than ${outcome.limitBytes} bytes of output; the log ends here`;
    case 'resource-limit':
      return `stopped: more ${outcome.which} than it may use`;
    case 'killed':
      return 'stopped on request';
    case 'start-failed':
      return `not started: ${outcome.detail}`;
    case 'refused':
      return outcome.detail;
  }
}

function specOf(input: RuntimeInput, proxySocket: string | undefined): SandboxSpec {
  const { argv, cwd, env, marker, limits } = input;
  const files = input.files ?? filesOfAttempt(cwd);
  return {
    argv,
    cwd,
    env,
    marker,
    limits: sandboxLimitsOf(limits),
    ...(files === null ? {} : { files }),
    ...(proxySocket === undefined ? {} : { proxySocket }),
  };
}

function sandboxLimitsOf(limits: RuntimeLimits): Partial<SandboxLimits> {
  const { memoryBytes, cpuMs, processes, diskBytes } = limits;
  return {
    ...(memoryBytes === undefined ? {} : { memoryBytes }),
    ...(cpuMs === undefined ? {} : { cpuMs }),
    ...(processes === undefined ? {} : { processes }),
    ...(diskBytes === undefined ? {} : { diskBytes }),
  };
}

function noIsolation(sandbox: SandboxProvider): string {
  return (
    `${sandbox.name} does not isolate an agent from this machine's files and network, so only the example agent ` +
    'that ships with Headgate may run on this worker. Commands of your own need a worker with an isolating ' +
    `sandbox.${sandbox.remedy === undefined ? '' : ` To mend it: ${sandbox.remedy}`}`
  );
}
