/** The runtime port: how an agent of some kind is run. `command` is the first; CLIs with budgets follow. */
import type { NetworkRule, ReasonCode } from '@headgate/domain';
import type { RedactLine } from './log-artifact.js';
import type { ExceededLimit, SandboxLimits } from './sandbox/limits.js';
import type { SandboxFiles, SandboxIdentity } from './sandbox/port.js';

/** Time and output are kept whatever the sandbox; of the rest `defaultLimits` hold unless others are given. */
export interface RuntimeLimits extends Partial<SandboxLimits> {
  readonly wallClockMs: number;
  /** Longest silence on stdout and stderr. */
  readonly silenceMs: number;
  readonly sandboxStartMs: number;
  readonly outputBytes: number;
}

export interface RuntimeInput {
  /** Resolved: the first is a path (`resolveCommand`). No shell. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** What an isolating sandbox shows. Left out: the attempt's own folders, when `cwd` is its workspace. */
  readonly files?: SandboxFiles;
  /** The whole environment (`agentEnvironment`). */
  readonly env: Readonly<Record<string, string>>;
  readonly marker: string;
  /** What it may reach; left out or without a rule: nothing. `folder` is the worker's own, for the proxy's socket. */
  readonly network?: { readonly rules: readonly NetworkRule[]; readonly folder: string };
  readonly limits: RuntimeLimits;
  /** Where its output goes (`artifactPath`). */
  readonly logPath: string;
  /** Whether it is code of ours. Everything else needs a sandbox that isolates. */
  readonly isTrusted: boolean;
  /** Aborting stops it and all it started. */
  readonly signal: AbortSignal;
  /** From being asked to stop to being killed. */
  readonly graceMs?: number;
  /** In the log and its tail. Replaces the registered secrets unless another rule is given. */
  readonly redactLine?: RedactLine;
  /** Told once it runs: hand it to the lease keeper, which may `endSandbox` from its own thread. */
  readonly onStarted?: (identity: SandboxIdentity) => void;
}

export type RuntimeOutcome =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'timeout'; readonly which: 'wall-clock' | 'silence' | 'sandbox-start' }
  | { readonly kind: 'output-limit'; readonly limitBytes: number }
  | { readonly kind: 'resource-limit'; readonly which: ExceededLimit }
  /** The caller's signal. */
  | { readonly kind: 'killed' }
  | { readonly kind: 'start-failed'; readonly detail: string }
  | { readonly kind: 'refused'; readonly reasonCode: 'NO_ISOLATION'; readonly detail: string };

/** What is kept whatever the outcome (Q8). */
export interface RuntimeEvidence {
  readonly logPath: string | null;
  readonly outputBytes: number;
  /** The end of the output. */
  readonly tail: string;
  readonly wallMs: number;
}

export type RuntimeResult = RuntimeOutcome & RuntimeEvidence;

export interface Runtime {
  readonly name: string;
  run(input: RuntimeInput): Promise<RuntimeResult>;
}

/** Why an attempt ends with this outcome; null when the command did its work. `killed` is the caller's to name. */
export function reasonOfOutcome(outcome: RuntimeOutcome): ReasonCode | null {
  switch (outcome.kind) {
    case 'exited':
      return outcome.code === 0 ? null : 'AGENT_FAILED';
    case 'timeout':
      switch (outcome.which) {
        case 'wall-clock':
          return 'WALL_CLOCK_EXCEEDED';
        case 'silence':
          return 'SILENCE_TIMEOUT';
        case 'sandbox-start':
          return 'SANDBOX_START_TIMEOUT';
      }
      break;
    case 'output-limit':
      return 'OUTPUT_LIMIT';
    case 'resource-limit':
      return 'RESOURCE_LIMIT';
    case 'start-failed':
      return 'SANDBOX_FAILED';
    case 'refused':
      return outcome.reasonCode;
    case 'killed':
      return null;
  }
  return null;
}
