/**
 * The route's own commands: `setup` before the agent, `verify` after it (Q5, Q30). They are lines of shell from
 * the configuration, run in the workspace, through the same sandbox and under the same rules as an agent:
 * refused without isolation, unless all of the route is the example.
 *
 * Collect the changes before verifying: what a verification leaves in the workspace is not the agent's result.
 */
import type { ReasonCode } from '@headgate/domain';
import type { Runtime, RuntimeInput, RuntimeOutcome } from './runtime.js';

export type CommandStage = 'setup' | 'verify';

export interface RunCommandsInput extends Omit<RuntimeInput, 'argv' | 'logPath'> {
  readonly stage: CommandStage;
  readonly commands: readonly string[];
  /** Of the n-th command, from 0. */
  readonly logPath: (index: number) => string;
  readonly runtime: Runtime;
}

export interface CommandEvidence {
  readonly command: string;
  readonly outcome: RuntimeOutcome;
  readonly logPath: string | null;
  readonly tail: string;
  readonly wallMs: number;
}

export type RunCommandsResult =
  | { readonly kind: 'passed'; readonly evidence: readonly CommandEvidence[] }
  /** The last of the evidence says how. */
  | {
      readonly kind: 'failed';
      readonly reasonCode: ReasonCode;
      readonly detail: string;
      readonly evidence: readonly CommandEvidence[];
    }
  | { readonly kind: 'killed'; readonly evidence: readonly CommandEvidence[] };

/** Runs the commands in order until one fails. `limits.wallClockMs` is for all of them together. */
export async function runCommands(input: RunCommandsInput): Promise<RunCommandsResult> {
  const { commands, runtime, stage, logPath, ...rest } = input;
  const evidence: CommandEvidence[] = [];
  let leftMs = input.limits.wallClockMs;
  for (const [index, command] of commands.entries()) {
    const result = await runtime.run({
      ...rest,
      argv: ['/bin/sh', '-c', command],
      logPath: logPath(index),
      limits: { ...input.limits, wallClockMs: Math.max(leftMs, 0) },
    });
    leftMs -= result.wallMs;
    const { tail, wallMs, outputBytes: _, logPath: log, ...outcome } = result;
    evidence.push({ command, outcome, logPath: log, tail, wallMs });
    if (outcome.kind === 'killed') return { kind: 'killed', evidence };
    if (outcome.kind === 'exited' && outcome.code === 0) continue;
    return {
      kind: 'failed',
      reasonCode: reasonOf(stage, outcome),
      detail: describe(command, outcome),
      evidence,
    };
  }
  return { kind: 'passed', evidence };
}

export const runSetup = (input: Omit<RunCommandsInput, 'stage'>): Promise<RunCommandsResult> =>
  runCommands({ ...input, stage: 'setup' });

export const runVerify = (input: Omit<RunCommandsInput, 'stage'>): Promise<RunCommandsResult> =>
  runCommands({ ...input, stage: 'verify' });

function reasonOf(stage: CommandStage, outcome: RuntimeOutcome): ReasonCode {
  switch (outcome.kind) {
    case 'refused':
      return outcome.reasonCode;
    case 'start-failed':
      return 'SANDBOX_FAILED';
    case 'timeout':
      if (outcome.which === 'sandbox-start') return 'SANDBOX_START_TIMEOUT';
      return stage === 'setup' ? 'SETUP_FAILED' : 'VERIFIER_FAILED';
    default:
      return stage === 'setup' ? 'SETUP_FAILED' : 'VERIFIER_FAILED';
  }
}

function describe(command: string, outcome: RuntimeOutcome): string {
  const name = JSON.stringify(command);
  switch (outcome.kind) {
    case 'exited':
      return `${name} exited with ${outcome.code}`;
    case 'timeout':
      return `${name} reached its ${outcome.which} limit`;
    case 'output-limit':
      return `${name} printed more than ${outcome.limitBytes} bytes`;
    case 'resource-limit':
      return `${name} used more ${outcome.which} than it may`;
    case 'killed':
      return `${name} was stopped`;
    case 'start-failed':
    case 'refused':
      return `${name}: ${outcome.detail}`;
  }
}
