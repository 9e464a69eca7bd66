/** The spans of an attempt, by the conventions for pipelines (`cicd.*`) and repositories (`vcs.*`). */
import { formatId, type ReasonCode, type RunStatus, type WorkerId } from '@headgate/domain';
import { isSha } from '@headgate/git';
import { ATTR, HEADGATE_ATTR, type SpanAttributes, span } from '@headgate/telemetry';
import type { LeasedRun } from '../hints/claim-desk.js';
import type { Job } from './job.js';

/** Of the span of one attempt: task, run, attempt, lease and worker in one place (Q32). */
export function runAttributes(run: LeasedRun, workerId: WorkerId): SpanAttributes {
  const { spec } = run;
  return {
    [ATTR.pipelineName]: spec.route,
    [ATTR.pipelineRunId]: formatId('run', run.runId),
    [ATTR.workerId]: formatId('wkr', workerId),
    [ATTR.agentName]: spec.agent.id,
    [HEADGATE_ATTR.tenant]: spec.tenant,
    [HEADGATE_ATTR.taskId]: formatId('task', run.taskId),
    [HEADGATE_ATTR.runId]: formatId('run', run.runId),
    [HEADGATE_ATTR.attempt]: run.attemptNo,
    [HEADGATE_ATTR.leaseId]: formatId('lease', run.leaseId),
    [HEADGATE_ATTR.fencingToken]: run.fencingToken,
    ...repositoryAttributes(run),
  };
}

function repositoryAttributes({ spec: { repository, target }, inputVersion }: LeasedRun): SpanAttributes {
  return {
    ...(repository === null
      ? {}
      : { [ATTR.repositoryName]: repository.fullName, [ATTR.repositoryUrl]: repository.url }),
    ...(isSha(inputVersion) ? { [ATTR.headRevision]: inputVersion } : {}),
    ...(target?.ref === null || target?.ref === undefined ? {} : { [ATTR.headName]: target.ref }),
    ...(target?.kind === 'pull_request' ? { [ATTR.changeId]: target.id } : {}),
  };
}

/** One stage of an attempt: a task run of its pipeline. */
export function inStage<T>({ run }: Job, stage: string, work: () => Promise<T>): Promise<T> {
  const attributes = {
    [ATTR.pipelineTaskName]: stage,
    [ATTR.pipelineTaskRunId]: `${formatId('att', run.attemptId)}/${stage}`,
  };
  return span(stage, attributes, work);
}

/** How it ended, in the words of the convention; a reason of ours beside it. */
export function resultAttributes(status: RunStatus, reasonCode: ReasonCode | null): SpanAttributes {
  const result = resultOf(status, reasonCode);
  return {
    [ATTR.pipelineResult]: result,
    [HEADGATE_ATTR.status]: status,
    ...(reasonCode === null ? {} : { [HEADGATE_ATTR.reasonCode]: reasonCode }),
    ...(result === 'failure' || result === 'error' || result === 'timeout'
      ? { [ATTR.errorType]: reasonCode ?? status }
      : {}),
  };
}

const TIMEOUTS: readonly (ReasonCode | null)[] = [
  'WALL_CLOCK_EXCEEDED',
  'SILENCE_TIMEOUT',
  'SANDBOX_START_TIMEOUT',
];

function resultOf(status: RunStatus, reasonCode: ReasonCode | null): string {
  if (TIMEOUTS.includes(reasonCode)) return 'timeout';
  switch (status) {
    case 'SUCCEEDED':
    case 'WAITING_APPROVAL':
      return 'success';
    case 'CANCELLED':
      return 'cancellation';
    case 'NO_WORK':
    case 'SUPERSEDED':
    case 'POLICY_DENIED':
      return 'skip';
    case 'QUEUED':
      return 'error';
    default:
      return 'failure';
  }
}
