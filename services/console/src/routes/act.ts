/** What operators do. Each answers 202, the same when repeated; 409 in a wrong state. */
import { formatId, parseId, type TaskId } from '@headgate/domain';
import type { RunDetail, TaskDetail } from '@headgate/sdk';
import type { ServiceContext } from '@headgate/service';
import { cancelRun, cancelTask } from '@headgate/store';
import { type AgainContext, resetTask, retryRun } from '../again/index.js';
import { actorOf, type Caller } from '../auth/index.js';
import { actOnMany } from '../bulk/index.js';
import { notFound, type Route, route, wrongState } from '../http/index.js';
import { inScope, runDetail, taskDetail, type WaitingReader } from '../queries/index.js';
import { replayReceipt } from '../replay/index.js';
import {
  againBody,
  bulkAnswerSchema,
  bulkBody,
  cancelBody,
  replayBody,
  runDetailSchema,
  signalAnswerSchema,
  taskDetailSchema,
  z,
} from '../schemas/index.js';
import { runIdOf } from './read.js';

const nothing = z.strictObject({});
const act = { method: 'post', role: 'operator', query: nothing, problems: [404, 409, 503] } as const;

export function actRoutes(again: AgainContext, waiting: WaitingReader): readonly Route[] {
  const { context } = again;
  return [
    route(
      {
        ...act,
        id: 'cancelRun',
        path: '/v1/runs/{id}/cancel',
        tag: 'Runs',
        summary: 'Cancel a run: at once while it waits, by its worker while it runs',
        body: cancelBody,
        answer: { status: 202, schema: runDetailSchema },
      },
      ({ caller, params, body }) => cancelOneRun(context, waiting, caller, params['id'], body.reason ?? null),
    ),
    route(
      {
        ...act,
        id: 'retryRun',
        path: '/v1/runs/{id}/retry',
        tag: 'Runs',
        summary: 'Run the same version again, as a new generation of its task',
        body: againBody,
        answer: { status: 202, schema: signalAnswerSchema },
      },
      ({ caller, params, body }) =>
        retryRun(again, caller, runIdOf(params['id']), {
          cancelLive: body.cancelLive,
          reason: body.reason ?? null,
        }),
    ),
    route(
      {
        ...act,
        id: 'actOnRuns',
        path: '/v1/runs:bulk',
        tag: 'Runs',
        summary: 'One act on many runs: with dryRun first, then with its token, on exactly what was shown',
        body: bulkBody,
        answer: { status: 202, schema: bulkAnswerSchema },
        problems: [503],
      },
      ({ caller, body }) => actOnMany(again, caller, body),
    ),
    route(
      {
        ...act,
        id: 'replayReceipt',
        path: '/v1/receipts/{id}/replay',
        tag: 'Receipts',
        summary: 'Decide the signal of a receipt again: the same once more, or as new work',
        body: replayBody,
        answer: { status: 202, schema: signalAnswerSchema },
        problems: [404, 409, 410, 503],
      },
      ({ caller, params, body }) => {
        const id = parseId('rcpt', params['id'] ?? '');
        if (id === null) throw notFound(`Receipt ${params['id']}`);
        return replayReceipt(again, caller, id, { ...body, nonce: body.nonce ?? null });
      },
    ),
    route(
      {
        ...act,
        id: 'cancelTask',
        path: '/v1/tasks/{id}/cancel',
        tag: 'Tasks',
        summary: 'Cancel a task: its live runs end, and its signals are refused until it is reset',
        body: cancelBody,
        answer: { status: 202, schema: taskDetailSchema },
      },
      ({ caller, params, body }) =>
        cancelOneTask(context, waiting, caller, taskIdOf(params['id']), body.reason ?? null),
    ),
    route(
      {
        ...act,
        id: 'resetTask',
        path: '/v1/tasks/{id}/reset',
        tag: 'Tasks',
        summary: 'Let a task work again: a new run of its newest version, as a new publication',
        body: againBody,
        answer: { status: 202, schema: signalAnswerSchema },
      },
      ({ caller, params, body }) =>
        resetTask(again, caller, taskIdOf(params['id']), {
          cancelLive: body.cancelLive,
          reason: body.reason ?? null,
        }),
    ),
  ];
}

function taskIdOf(text: string | undefined): TaskId {
  const taskId = parseId('task', text ?? '');
  if (taskId === null) throw notFound(`Task ${text}`);
  return taskId;
}

async function cancelOneRun(
  context: ServiceContext,
  waiting: WaitingReader,
  caller: Caller,
  id: string | undefined,
  reason: string | null,
): Promise<RunDetail> {
  const runId = runIdOf(id);
  const stopped = await cancelRun(context.database.api, runId, {
    actor: actorOf(caller),
    reason,
    tenants: caller.tenants,
  });
  if (stopped === null || stopped.result === 'unknown') throw notFound(`Run ${id}`);
  if (stopped.result === 'terminal' && stopped.status !== 'CANCELLED') {
    throw wrongState(`Run ${id} has ended: ${stopped.status}. What has ended cannot be cancelled.`);
  }
  if (stopped.result === 'requested') await context.bus.wake('cancel', { runId });
  const run = await inScope(context, caller, (c) => runDetail(c, waiting, caller, runId));
  if (run === null) throw notFound(`Run ${id}`);
  return run;
}

async function cancelOneTask(
  context: ServiceContext,
  waiting: WaitingReader,
  caller: Caller,
  taskId: TaskId,
  reason: string | null,
): Promise<TaskDetail> {
  const stopped = await cancelTask(context.database.api, taskId, {
    actor: actorOf(caller),
    reason,
    tenants: caller.tenants,
  });
  if (stopped === null) throw notFound(`Task ${formatId('task', taskId)}`);
  for (const [runId, { result }] of stopped) {
    if (result === 'requested') await context.bus.wake('cancel', { runId });
  }
  const task = await inScope(context, caller, (c) => taskDetail(c, waiting, taskId));
  if (task === null) throw notFound(`Task ${formatId('task', taskId)}`);
  return task;
}
