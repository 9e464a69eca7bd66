/** Signals as they come from outside: signed GitHub deliveries, and calls of a person. */
import { parseId, type RunId, type TaskId } from '@headgate/domain';
import { findSample, rewriteSample } from '@headgate/sources';
import type { Deliveries } from '../github/deliveries.js';
import { CLUSTER_REPOSITORY, CLUSTER_SOURCE } from './workload.js';

/** The answer to one signal, with ids as the database has them. */
export interface SignalReply {
  /** Null: no answer came. */
  readonly httpStatus: number | null;
  readonly guid: string;
  readonly receiptId: string | null;
  readonly outcome: string | null;
  readonly reasonCode: string | null;
  readonly runId: RunId | null;
  readonly taskId: TaskId | null;
  readonly existing: boolean | null;
  readonly body: unknown;
}

export interface CheckDelivery {
  /** The check's name: its first word chooses the route. */
  readonly check: string;
  readonly headSha: string;
  readonly guid?: string;
  /** For payloads that no forge would send. */
  readonly change?: (payload: Record<string, unknown>) => void;
}

const field = (body: unknown, name: string): unknown =>
  typeof body === 'object' && body !== null ? (body as Readonly<Record<string, unknown>>)[name] : undefined;
const textField = (body: unknown, name: string): string | null => {
  const value = field(body, name);
  return typeof value === 'string' ? value : null;
};

export function replyOf(httpStatus: number | null, guid: string, body: unknown): SignalReply {
  const receiptId = textField(body, 'receiptId');
  const existing = field(body, 'existing');
  return {
    httpStatus,
    guid,
    receiptId: receiptId === null ? null : parseId('rcpt', receiptId),
    outcome: textField(body, 'outcome'),
    reasonCode: textField(body, 'reasonCode') ?? textField(body, 'code'),
    runId: parseId('run', textField(body, 'runId') ?? ''),
    taskId: parseId('task', textField(body, 'taskId') ?? ''),
    existing: typeof existing === 'boolean' ? existing : null,
    body,
  };
}

/** A failed check on the head of the default branch: GitHub's own example, told of this cluster's repository. */
export async function sendCheck(
  deliveries: Deliveries,
  intakeUrl: string,
  secret: string,
  { check, headSha, guid, change }: CheckDelivery,
): Promise<SignalReply> {
  const payload = checkPayload(check, headSha);
  change?.(payload);
  const result = await deliveries.send({
    url: `${intakeUrl}/webhooks/${CLUSTER_SOURCE}`,
    event: 'check_run',
    payload,
    secret,
    ...(guid === undefined ? {} : { guid }),
  });
  return replyOf(result.status, result.guid, result.answer);
}

function checkPayload(check: string, headSha: string): Record<string, unknown> {
  const found = findSample('check_run.completed#0');
  if (found.kind !== 'sample') throw new Error(found.detail);
  const payload = rewriteSample(found.sample, {
    repository: CLUSTER_REPOSITORY,
    branch: CLUSTER_REPOSITORY.defaultBranch,
    headSha,
    baseSha: null,
    at: new Date(),
  });
  const run = payload['check_run'];
  return {
    ...payload,
    check_run: {
      ...(typeof run === 'object' ? run : {}),
      name: check,
      conclusion: 'failure',
      pull_requests: [],
    },
  };
}

export interface WorkCall {
  readonly route: string;
  readonly workKey?: string;
  readonly inputVersion?: string;
  readonly idempotencyKey?: string;
}

/** `POST /v1/work` by a person with a token. */
export async function submitWork(intakeUrl: string, token: string, call: WorkCall): Promise<SignalReply> {
  const { idempotencyKey, ...body } = call;
  const response = await fetch(`${intakeUrl}/v1/work`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  return replyOf(response.status, '', await response.json());
}
