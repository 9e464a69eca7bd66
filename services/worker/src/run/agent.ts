/** RUNNING: the route's set-up, then the agent, in its sandbox and under its limits. */
import { formatId, type NetworkRule, type ReasonCode, type RunSpec } from '@headgate/domain';
import { isLocalRemote } from '@headgate/git';
import {
  agentEnvironment,
  type ContextFile,
  type RunCommandsResult,
  type RuntimeInput,
  type RuntimeResult,
  readAgentResult,
  reasonOfOutcome,
  resolveCommand,
  runSetup,
  type Workspace,
  writeAgentInput,
} from '@headgate/runtimes';
import {
  failPoint,
  HEADGATE_ATTR,
  HISTORY_OPS,
  record,
  redactText,
  span,
  testSignal,
} from '@headgate/telemetry';
import { inAgentSpan } from './agent-span.js';
import { type Ending, type Evidence, ended, failed, go, type Step } from './ending.js';
import { type Job, stopAfterAgent, stopOf } from './job.js';
import { confirmStopped } from './stop-confirmation.js';

export interface AgentRun {
  readonly summary: string | null;
  /** Of `wallClockMs`, used by set-up and agent together. */
  readonly wallMs: number;
  readonly evidence: Evidence;
}

export async function runAgent(job: Job, workspace: Workspace): Promise<Step<AgentRun>> {
  const { run, parts } = job;
  const { spec } = run;
  const command = resolveCommand(spec.agent.command);
  if (command.kind === 'not-found') return ended(failed('SANDBOX_FAILED', command.detail));
  await writeInput(job, workspace);
  const env = agentEnvironment(workspace.folders, spec.agent.env);

  const setup = await runCommandsOf(job, workspace, 'setup', spec.limits.wallClockMs, env);
  if (setup.kind === 'ended') return setup;
  const usedMs = setup.value.wallMs;

  const stop = await stopOf(job);
  if (stop !== null) return ended(stop);
  parts.stages.enter(job.lease, 'RUNNING', job.actor);
  startsWork(job, 'agent');
  const result = await underLease(job, workspace, 'agent', (hooks) =>
    inAgentSpan(job, workspace, (ownEnv) =>
      parts.runtime.run({
        argv: command.argv,
        cwd: workspace.folders.workspace,
        env: { ...env, ...ownEnv },
        marker: workspace.marker,
        network: { rules: spec.agent.network?.agent ?? [], folder: workspace.folders.worker },
        limits: {
          ...spec.limits,
          wallClockMs: Math.max(spec.limits.wallClockMs - usedMs, 1),
          sandboxStartMs: Math.max(job.startByMs - parts.clock.monotonicMs(), MIN_START_MS),
        },
        logPath: job.artifacts.path('agent.log'),
        isTrusted: spec.agent.trustedExample && command.isExampleAgent,
        redactLine: redactText,
        ...hooks,
      }),
    ),
  );
  if (result === null) return ended(await stoppedUnseen(job));
  await failPoint('worker.agent.exited');
  testSignal('worker.agent.exited', { runId: run.runId, outcome: result.kind });
  const stopped = await stopAfterAgent(job);
  if (stopped !== null) return ended(withEvidence(stopped, evidenceOf(result)));
  const reasonCode = reasonOfOutcome(result);
  if (reasonCode !== null || result.kind === 'killed') {
    return ended(agentFailed(reasonCode ?? 'SANDBOX_FAILED', result));
  }
  const said = await readAgentResult(workspace.folders);
  const { provider, warning } = parts.sandbox;
  const sandbox = { name: provider.name, isolation: provider.isolation, warning };
  const evidence = {
    ...evidenceOf(result),
    sandbox,
    ...(said.kind === 'unreadable' ? { result: said.detail } : {}),
  };
  return go({
    summary: said.kind === 'result' ? said.summary : null,
    wallMs: usedMs + result.wallMs,
    evidence: { agent: evidence, ...(setup.value.evidence === null ? {} : { setup: setup.value.evidence }) },
  });
}

/** A sandbox that is late to its claim still gets a moment: the bound of the phase is kept by `prepare`. */
const MIN_START_MS = 5_000;

export interface CommandsRun {
  readonly wallMs: number;
  /** Null: there was nothing to run. */
  readonly evidence: RunCommandsResult['evidence'] | null;
}

/** Runs a list of commands of the route; ends the attempt when one fails. */
export async function runCommandsOf(
  job: Job,
  workspace: Workspace,
  stage: 'setup' | 'verify',
  withinMs: number,
  env: Readonly<Record<string, string>>,
  run: typeof runSetup = runSetup,
): Promise<Step<CommandsRun>> {
  const { spec } = job.run;
  const commands = spec[stage];
  if (commands.length === 0) return go({ wallMs: 0, evidence: null });
  const stop = await stopOf(job);
  if (stop !== null) return ended(stop);
  startsWork(job, stage);
  const result = await underLease(job, workspace, stage, (hooks) =>
    run({
      commands,
      runtime: job.parts.runtime,
      logPath: (index) => job.artifacts.path(index === 0 ? `${stage}.log` : `${stage}-${index + 1}.log`),
      cwd: workspace.folders.workspace,
      env,
      marker: workspace.marker,
      network: { rules: networkOf(stage, spec), folder: workspace.folders.worker },
      limits: { ...spec.limits, wallClockMs: withinMs, silenceMs: Math.min(spec.limits.silenceMs, withinMs) },
      isTrusted: isExampleOnly(job),
      redactLine: redactText,
      ...hooks,
    }),
  );
  if (result === null) return ended(await stoppedUnseen(job));
  const stopped = await stopAfterAgent(job);
  if (stopped !== null) return ended(withEvidence(stopped, { [stage]: result.evidence }));
  switch (result.kind) {
    case 'passed':
      return go({
        wallMs: result.evidence.reduce((sum, one) => sum + one.wallMs, 0),
        evidence: result.evidence,
      });
    case 'failed':
      return ended(failed(result.reasonCode, result.detail, { [stage]: result.evidence }));
    case 'killed':
      return ended(failed('SANDBOX_FAILED', `${stage} was stopped`, { [stage]: result.evidence }));
  }
}

/** A verification reaches nothing: what it finds must not depend on who answers. */
const networkOf = (stage: 'setup' | 'verify', { agent }: RunSpec): readonly NetworkRule[] =>
  stage === 'setup' ? (agent.network?.setup ?? []) : [];

/** Commands are part of the example only where agent and repository are ours. */
export const isExampleOnly = ({ run: { spec } }: Job): boolean =>
  spec.agent.trustedExample && spec.repository !== null && isLocalRemote(spec.repository.url);

type Hooks = Pick<RuntimeInput, 'signal' | 'graceMs' | 'onStarted'>;

/**
 * Runs something in a sandbox that ends with the lease: the keeper's thread knows it from its start, and the signal
 * stops it. Null: it could not be seen to stop.
 */
export async function underLease<T>(
  job: Job,
  { marker }: Pick<Workspace, 'marker'>,
  what: string,
  start: (hooks: Hooks) => Promise<T>,
): Promise<T | null> {
  const { keeper, timing } = job.parts;
  const run = (hooks: Hooks): Promise<T> =>
    span(
      `sandbox ${what}`,
      { [HEADGATE_ATTR.sandboxId]: marker, [HEADGATE_ATTR.sandboxKind]: job.parts.sandbox.provider.name },
      () => start(hooks),
    );
  let atStart: Promise<unknown> = Promise.resolve(null);
  const running = run({
    signal: job.lease.stopSignal,
    graceMs: timing.killGraceMs,
    onStarted: (identity) => {
      keeper.sandbox(job.lease, identity);
      // Awaited below: this is called from within the runtime, which waits for nobody.
      atStart = failPoint('worker.agent.started').then(
        () => null,
        (fault: unknown) => fault,
      );
      testSignal('worker.agent.started', {
        runId: job.run.runId,
        pids: identity.processes.map((p) => p.pid),
      });
    },
  });
  try {
    const boundMs = timing.killGraceMs + timing.stopConfirmMs;
    const result = await confirmStopped(running, job.lease.stopSignal, boundMs);
    const fault = await atStart;
    if (fault !== null) throw fault;
    return result;
  } finally {
    keeper.sandbox(job.lease, null);
  }
}

/**
 * The agent was killed and is still not gone. Its lease is renewed no more, and the slot is held until it has run out:
 * nobody else may work on the same things while it might (Q5).
 */
export async function stoppedUnseen(job: Job): Promise<Ending> {
  const { lease, parts, logger } = job;
  logger.error('the agent could not be seen to stop: its lease is left to run out');
  parts.keeper.letRunOut(lease);
  const why = lease.stop;
  while (lease.trustedForMs > LAST_MOMENT_MS && lease.stop?.kind !== 'gone') {
    await new Promise((resolve) => {
      setTimeout(resolve, Math.min(lease.trustedForMs - LAST_MOMENT_MS, POLL_MS));
    });
  }
  const evidence = { agentStopped: false, reasonCode: 'CANCEL_UNCONFIRMED' satisfies ReasonCode };
  return why?.kind === 'cancel' && !lease.isGone
    ? { kind: 'end', outcome: { kind: 'cancelled' }, evidence }
    : { kind: 'dropped' };
}

/** Kept of the trust to hand the attempt in. */
const LAST_MOMENT_MS = 500;
const POLL_MS = 200;

/** Recorded before it begins, for the checker: nothing guarded starts outside the trust window (INV-LE5). */
export function startsWork(job: Job, what: string): void {
  const { runId, fencingToken, leaseId } = job.lease.fence;
  record({ type: 'invoke', op: HISTORY_OPS.workStart, run: runId, fencingToken, leaseId, key: what });
}

async function writeInput({ run }: Job, workspace: Workspace): Promise<void> {
  const { spec } = run;
  const context: ContextFile[] =
    spec.inputs === null || spec.inputs === undefined
      ? []
      : [{ name: 'inputs.json', content: `${JSON.stringify(spec.inputs, null, 2)}\n` }];
  await writeAgentInput(
    workspace.folders,
    {
      version: 1,
      run: { id: formatId('run', run.runId), attempt: run.attemptNo },
      task: { id: formatId('task', run.taskId), route: spec.route, workKey: spec.workKey },
      repository: {
        fullName: spec.repository?.fullName ?? '',
        baseSha: workspace.baseSha,
        ref: spec.target?.ref ?? spec.repository?.defaultBranch ?? null,
      },
      target: spec.target === null ? null : { kind: spec.target.kind, id: spec.target.id },
      prompt: spec.prompt,
    },
    context,
  );
}

const evidenceOf = ({ logPath: _log, ...rest }: RuntimeResult): Evidence => ({ ...rest });

const withEvidence = (ending: Ending, evidence: Evidence): Ending =>
  ending.kind === 'dropped' ? ending : { ...ending, evidence: { ...ending.evidence, ...evidence } };

/** An agent that no sandbox here may run waits for one: that is nobody's failure. */
function agentFailed(reasonCode: ReasonCode, result: RuntimeResult): Ending {
  const detail = 'detail' in result ? result.detail : describe(result);
  return failed(reasonCode, detail, { agent: evidenceOf(result) });
}

function describe(result: RuntimeResult): string {
  switch (result.kind) {
    case 'exited':
      return `The agent exited with ${result.code}.`;
    case 'timeout':
      return `The agent reached its ${result.which} limit.`;
    case 'output-limit':
      return `The agent printed more than ${result.limitBytes} bytes.`;
    case 'killed':
      return 'The agent was stopped.';
    default:
      return 'The agent did not run.';
  }
}
