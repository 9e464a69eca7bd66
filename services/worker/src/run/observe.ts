/**
 * An observation of a goal: a run like any other (claim, lease, finish), without agent, result, push or cost.
 *
 *   CLAIMED ─► [command: PREPARING_SANDBOX] ─► RUNNING ─► finish, the observation in the attempt's evidence
 *
 * It writes nothing of its own: the observation becomes durable with the attempt's end, in one transaction, and whoever
 * keeps the goal reads it there. A crash anywhere before is an attempt that is made again. What could not be told is
 * an answer too: only a worker that cannot do its part (no sandbox, no clone) fails the attempt.
 */
import { resolveSecret } from '@headgate/config';
import {
  jsonIn,
  OBSERVED_CHARACTERS,
  type ObservationFacts,
  type ObservationReport,
  type ObserveSpec,
} from '@headgate/domain';
import { agentEnvironment, type RuntimeResult, reasonOfOutcome } from '@headgate/runtimes';
import { guardedRequest } from '@headgate/sources';
import { failPoint, redactText, testSignal } from '@headgate/telemetry';
import { isExampleOnly, startsWork, stoppedUnseen, underLease } from './agent.js';
import { deadline } from './deadline.js';
import { type Ending, ended, endedWith, failed, go, type Step } from './ending.js';
import { type Job, stopAfterAgent, stopOf } from './job.js';
import { prepare } from './prepare.js';

export async function observe(job: Job, spec: ObserveSpec): Promise<Ending> {
  const seen = spec.kind === 'command' ? await byCommand(job, spec) : await byRequest(job, spec);
  if (seen.kind === 'ended') return seen.ending;
  await failPoint('worker.observed');
  testSignal('worker.observed', { runId: job.run.runId, kind: seen.value.kind });
  const stop = await stopOf(job);
  if (stop !== null) return stop;
  return endedWith({ kind: 'succeeded', reasonCode: 'SUCCEEDED' }, { observation: seen.value });
}

const NOTHING = { exitCode: null, output: null, status: null, body: null, json: null } as const;
const unknown = (detail: string): Step<ObservationReport> => go({ kind: 'unknown', detail });
const seen = (facts: ObservationFacts): Step<ObservationReport> => go({ kind: 'seen', facts });

async function byCommand(
  job: Job,
  { command, timeoutMs }: Extract<ObserveSpec, { kind: 'command' }>,
): Promise<Step<ObservationReport>> {
  const { run, parts } = job;
  const prepared = await prepare(job);
  if (prepared.kind === 'ended') return prepared;
  const workspace = prepared.value;
  const stop = await stopOf(job);
  if (stop !== null) return ended(stop);
  parts.stages.enter(job.lease, 'RUNNING', job.actor);
  startsWork(job, 'observe');
  const result = await underLease(job, workspace, 'observe', (hooks) =>
    parts.runtime.run({
      argv: ['/bin/sh', '-c', command],
      cwd: workspace.folders.workspace,
      env: agentEnvironment(workspace.folders, {}),
      marker: workspace.marker,
      limits: { ...run.spec.limits, wallClockMs: timeoutMs, silenceMs: timeoutMs },
      logPath: job.artifacts.path('observation.log'),
      isTrusted: isExampleOnly(job),
      redactLine: redactText,
      ...hooks,
    }),
  );
  if (result === null) return ended(await stoppedUnseen(job));
  const stopped = await stopAfterAgent(job);
  if (stopped !== null) return ended(stopped);
  const ref = run.spec.target?.ref ?? run.spec.repository?.defaultBranch ?? null;
  return reported(result, { version: workspace.baseSha, ref });
}

function reported(
  result: RuntimeResult,
  place: Pick<ObservationFacts, 'version' | 'ref'>,
): Step<ObservationReport> {
  switch (result.kind) {
    case 'exited':
      return seen({
        ...NOTHING,
        ...place,
        kind: 'command',
        exitCode: result.code,
        output: result.tail,
        json: jsonIn(result.tail),
      });
    case 'timeout':
      if (result.which === 'sandbox-start') return ended(failed('SANDBOX_START_TIMEOUT', null));
      return unknown('The command was not done in its time.');
    case 'output-limit':
      return unknown(`The command printed more than ${result.limitBytes} bytes.`);
    case 'resource-limit':
      return unknown(`The command used more ${result.which} than it may.`);
    default: {
      const detail = 'detail' in result ? result.detail : 'the observation was stopped';
      return ended(failed(reasonOfOutcome(result) ?? 'SANDBOX_FAILED', detail));
    }
  }
}

async function byRequest(
  job: Job,
  { url, headers, allow, timeoutMs }: Extract<ObserveSpec, { kind: 'http' }>,
): Promise<Step<ObservationReport>> {
  const { parts, run } = job;
  parts.stages.enter(job.lease, 'RUNNING', job.actor);
  startsWork(job, 'observe');
  const sent = await headersOf(job, headers);
  if ('problem' in sent) return unknown(sent.problem);
  const bound = deadline(timeoutMs, job.lease.stopSignal);
  try {
    const answer = await guardedRequest({ url, headers: sent.headers, allow, signal: bound.signal });
    const stop = await stopOf(job);
    if (stop !== null) return ended(stop);
    if (answer.kind !== 'answered')
      return unknown(bound.isOver ? 'It did not answer in time.' : answer.detail);
    return seen({
      ...NOTHING,
      kind: 'http',
      status: answer.status,
      body: redactText(answer.body.slice(0, OBSERVED_CHARACTERS)),
      json: jsonIn(answer.body),
      version: job.headSha,
      ref: run.spec.target?.ref ?? run.spec.repository?.defaultBranch ?? null,
    });
  } finally {
    bound.clear();
  }
}

/** References are read at the moment they are needed; what they hold is kept nowhere. */
async function headersOf(
  { parts }: Job,
  written: Readonly<Record<string, string>>,
): Promise<{ readonly headers: Record<string, string> } | { readonly problem: string }> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(written)) {
    if (!value.startsWith('$') && !value.startsWith('file:')) {
      headers[name] = value;
      continue;
    }
    const resolved = await resolveSecret(value, parts.secrets);
    if (!resolved.ok) return { problem: `The header ${name} cannot be sent: ${resolved.message}.` };
    headers[name] = resolved.value;
  }
  return { headers };
}
