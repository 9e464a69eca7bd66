/** How an attempt ends: from what its worker hands in, and where its run stands under the lock. Pure. */
import {
  decideRetry,
  type FinishResult,
  finishPath,
  isCancelling,
  type LeasedStatus,
  type Random,
  type ReasonCode,
  type RetryCounters,
} from '@headgate/domain';
import type { AttemptEnd } from '../tables/attempts.js';
import type { RunEvent } from '../tables/run-events.js';
import { type LockedRun, retryPolicyOf } from '../tables/runs.js';
import type { Ending } from './endings.js';
import type { AttemptOutcome, FinishRequest } from './finish-request.js';

const countersOf = (run: LockedRun): RetryCounters => ({
  application: run.application,
  infrastructure: run.infrastructure,
  leaseLost: run.leaseLost,
  rateLimit: run.rateLimit,
});

/** No steps: no run in this status can end so. */
export function endingOf(run: LockedRun, request: FinishRequest, random: Random): Ending {
  const decided = decide(run, request.result, random);
  const cancelling = isCancelling(run.status);
  const passed = cancelling ? [] : (request.passed ?? []).filter((stage) => stage !== run.status);
  const path = finishPath(passed.at(-1) ?? run.status, decided.finish);
  const status = path.at(-1) ?? run.status;
  const reasonCode = cancelling ? (run.reasonCode ?? 'CANCELLED_BY_USER') : decided.reasonCode;
  return {
    runId: run.runId,
    passed: passed.map((stage) => stageEvent(run, stage, request)),
    status,
    counters: decided.counters,
    requeueDelayMs: status === 'QUEUED' ? decided.delayMs : null,
    deadLetter: decided.deadLetter && !cancelling,
    proposal:
      status === 'WAITING_APPROVAL' && request.result.kind === 'needs-approval'
        ? request.result.proposal
        : null,
    walk: {
      runId: run.runId,
      from: run.status,
      actor: request.actor,
      fence: request.fence,
      steps: path.map((to) => ({ to, reasonCode, detail: decided.detail })),
    },
    attempt: {
      attemptId: request.attemptId,
      status: attemptStatusOf(request.result, cancelling),
      reasonCode: attemptReasonOf(request.result, reasonCode),
      detail: decided.detail,
      costUsd: request.costUsd,
      evidence: request.evidence,
    },
  };
}

const stageEvent = (run: LockedRun, stage: LeasedStatus, { actor, fence }: FinishRequest): RunEvent => ({
  tenantId: run.tenantId,
  runId: run.runId,
  taskId: run.taskId,
  type: `run.${stage.toLowerCase()}`,
  reasonCode: null,
  actor,
  fence,
  data: { coalesced: true },
});

/** Whether the end may ask for the run's retry policy. */
export const mayRetry = ({ kind }: AttemptOutcome): boolean => kind === 'failed' || kind === 'handed-back';

interface Decided {
  readonly finish: FinishResult;
  readonly reasonCode: ReasonCode;
  readonly detail: string | null;
  readonly counters: RetryCounters | null;
  readonly delayMs: number;
  readonly deadLetter: boolean;
}

function decide(run: LockedRun, result: AttemptOutcome, random: Random): Decided {
  const plain = { detail: null, counters: null, delayMs: 0, deadLetter: false };
  switch (result.kind) {
    case 'succeeded':
      return { ...plain, finish: { kind: 'succeeded' }, reasonCode: result.reasonCode };
    case 'no-work':
    case 'policy-denied':
      return {
        ...plain,
        finish: { kind: result.kind },
        reasonCode: result.reasonCode,
        detail: result.detail,
      };
    case 'needs-approval':
      return {
        ...plain,
        finish: { kind: 'needs-approval' },
        reasonCode: 'APPROVAL_REQUIRED',
        detail: result.detail,
      };
    case 'cancelled':
      return { ...plain, finish: { kind: 'cancelled' }, reasonCode: run.reasonCode ?? 'CANCELLED_BY_USER' };
    case 'handed-back':
    case 'failed': {
      const retry = decideRetry({
        reasonCode: result.reasonCode,
        counters: countersOf(run),
        policy: retryPolicyOf(run),
        sinceFirstClaimMs: run.sinceFirstClaimMs,
        random: random(),
        retryAfterMs: result.retryAfterMs,
      });
      const detail = result.kind === 'failed' ? result.detail : null;
      return retry.kind === 'retry'
        ? {
            finish: { kind: 'failed', retry: true },
            reasonCode: result.reasonCode,
            detail,
            counters: retry.counters,
            delayMs: retry.delayMs,
            deadLetter: false,
          }
        : {
            finish: { kind: 'failed', retry: false },
            reasonCode: retry.reasonCode,
            detail,
            counters: retry.counters,
            delayMs: 0,
            deadLetter: retry.deadLetter,
          };
    }
  }
}

function attemptStatusOf(result: AttemptOutcome, cancelling: boolean): AttemptEnd['status'] {
  if (cancelling || result.kind === 'cancelled') return 'cancelled';
  switch (result.kind) {
    case 'succeeded':
    case 'no-work':
      return 'succeeded';
    case 'handed-back':
    case 'needs-approval':
      return 'released';
    default:
      return 'failed';
  }
}

/** The attempt keeps its own reason, also where the run ends for another (exhausted, cancelled). */
const attemptReasonOf = (result: AttemptOutcome, runReason: ReasonCode): ReasonCode =>
  'reasonCode' in result ? result.reasonCode : runReason;
