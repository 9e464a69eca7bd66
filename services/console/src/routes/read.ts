/** Everything that only looks. */
import { formatId, parseId, type RunId } from '@headgate/domain';
import type { ServiceContext } from '@headgate/service';
import { notFound, type Route, route } from '../http/index.js';
import {
  approvalPageOf,
  artifactAnswer,
  artifactFiles,
  deadLetterPageOf,
  inScope,
  queueAnswers,
  receiptAnswer,
  receiptPageOf,
  runDetail,
  runExists,
  runPageOf,
  sourceStandings,
  taskDetail,
  taskPageOf,
  type WaitingReader,
  workerPageOf,
} from '../queries/index.js';
import {
  approvalPage,
  approvalQuery,
  artifactPage,
  artifactQuery,
  deadLetterPage,
  deadLetterQuery,
  explainQuery,
  explanationSchema,
  plainPageQuery,
  queuePage,
  receiptPage,
  receiptQuery,
  receiptSchema,
  runDetailSchema,
  runPage,
  runQuery,
  sourcePage,
  taskDetailSchema,
  taskPage,
  taskQuery,
  workerPage,
  workerQuery,
  z,
} from '../schemas/index.js';
import { explanationOf } from '../why/explanation.js';
import { sendArtifact } from './artifact-content.js';

const nothing = z.strictObject({});

/** A text of the path as an id; one that cannot be an id names nothing. */
export function runIdOf(text: string | undefined): RunId {
  const runId = parseId('run', text ?? '');
  if (runId === null) throw notFound(`Run ${text}`);
  return runId;
}

const look = { method: 'get', role: 'viewer', body: null } as const;

export function readRoutes(context: ServiceContext, waiting: WaitingReader): readonly Route[] {
  return [
    route(
      {
        ...look,
        id: 'listReceipts',
        path: '/v1/receipts',
        tag: 'Receipts',
        summary: 'Receipts, newest first',
        query: receiptQuery,
        answer: { status: 200, schema: receiptPage },
        problems: [],
      },
      ({ caller, query }) => inScope(context, caller, (c) => receiptPageOf(c, caller.tenantId, query)),
    ),
    route(
      {
        ...look,
        id: 'getReceipt',
        path: '/v1/receipts/{id}',
        tag: 'Receipts',
        summary: 'One receipt, with the end of the run it led to',
        query: nothing,
        answer: { status: 200, schema: receiptSchema },
        problems: [404],
      },
      async ({ caller, params }) => {
        const id = parseId('rcpt', params['id'] ?? '');
        const found = id === null ? null : await inScope(context, caller, (c) => receiptAnswer(c, id));
        if (found === null) throw notFound(`Receipt ${params['id']}`);
        return found;
      },
    ),
    route(
      {
        ...look,
        id: 'listTasks',
        path: '/v1/tasks',
        tag: 'Tasks',
        summary: 'Tasks, newest first',
        query: taskQuery,
        answer: { status: 200, schema: taskPage },
        problems: [],
      },
      ({ caller, query }) => inScope(context, caller, (c) => taskPageOf(c, query)),
    ),
    route(
      {
        ...look,
        id: 'getTask',
        path: '/v1/tasks/{id}',
        tag: 'Tasks',
        summary: 'One task with its runs and the signals that it attracted',
        query: nothing,
        answer: { status: 200, schema: taskDetailSchema },
        problems: [404],
      },
      async ({ caller, params }) => {
        const id = parseId('task', params['id'] ?? '');
        const found = id === null ? null : await inScope(context, caller, (c) => taskDetail(c, waiting, id));
        if (found === null) throw notFound(`Task ${params['id']}`);
        return found;
      },
    ),
    route(
      {
        ...look,
        id: 'listRuns',
        path: '/v1/runs',
        tag: 'Runs',
        summary: 'Runs, newest first; a waiting one says what it waits for',
        query: runQuery,
        answer: { status: 200, schema: runPage },
        problems: [],
      },
      ({ caller, query }) => inScope(context, caller, (c) => runPageOf(c, waiting, query)),
    ),
    route(
      {
        ...look,
        id: 'getRun',
        path: '/v1/runs/{id}',
        tag: 'Runs',
        summary: 'One run with attempts, operations, usage and events',
        query: nothing,
        answer: { status: 200, schema: runDetailSchema },
        problems: [404],
      },
      async ({ caller, params }) => {
        const id = runIdOf(params['id']);
        const found = await inScope(context, caller, (c) => runDetail(c, waiting, caller, id));
        if (found === null) throw notFound(`Run ${params['id']}`);
        return found;
      },
    ),
    route(
      {
        ...look,
        id: 'listArtifacts',
        path: '/v1/runs/{id}/artifacts',
        tag: 'Runs',
        summary: 'What the attempts of a run left on disk',
        query: nothing,
        answer: { status: 200, schema: artifactPage },
        problems: [404],
      },
      async ({ caller, params }) => {
        const id = runIdOf(params['id']);
        return inScope(context, caller, async (c) => {
          if (!(await runExists(c, id))) throw notFound(`Run ${params['id']}`);
          return {
            items: (await artifactFiles(c, id)).map((file) => artifactAnswer(id, file)),
            nextCursor: null,
          };
        });
      },
    ),
    route(
      {
        ...look,
        id: 'getArtifact',
        path: '/v1/runs/{id}/artifacts/{name}',
        tag: 'Runs',
        summary: 'The content of an artifact: the newest attempt’s, or that of ?attempt=',
        query: artifactQuery,
        answer: { status: 200, schema: 'bytes' },
        problems: [404],
      },
      async ({ caller, params, query, response }) => {
        const id = runIdOf(params['id']);
        const files = await inScope(context, caller, (c) => artifactFiles(c, id));
        const file = files.findLast(
          (one) =>
            one.name === params['name'] && (query.attempt === undefined || one.attemptNo === query.attempt),
        );
        if (file === undefined) throw notFound(`Artifact ${params['name']} of ${formatId('run', id)}`);
        await sendArtifact(context.paths.artifacts, file, response);
      },
    ),
    route(
      {
        ...look,
        id: 'listWorkers',
        path: '/v1/workers',
        tag: 'Operations',
        summary: 'Workers, newest first',
        query: workerQuery,
        answer: { status: 200, schema: workerPage },
        problems: [],
      },
      ({ caller, query }) => inScope(context, caller, (c) => workerPageOf(c, query)),
    ),
    route(
      {
        ...look,
        id: 'listQueues',
        path: '/v1/queues',
        tag: 'Operations',
        summary: 'Queues with what waits, runs and serves in each',
        query: plainPageQuery,
        answer: { status: 200, schema: queuePage },
        problems: [],
      },
      ({ caller }) => inScope(context, caller, (c) => queueAnswers(context, caller, c)),
    ),
    route(
      {
        ...look,
        id: 'listSources',
        path: '/v1/sources',
        tag: 'Operations',
        summary: 'How sources were last looked at, those with trouble first',
        query: plainPageQuery,
        answer: { status: 200, schema: sourcePage },
        problems: [],
      },
      ({ caller }) => inScope(context, caller, (c) => sourceStandings(c)),
    ),
    route(
      {
        ...look,
        id: 'listApprovals',
        path: '/v1/approvals',
        tag: 'Operations',
        summary: 'What people are asked about runs, and what they have said, the newest first',
        query: approvalQuery,
        answer: { status: 200, schema: approvalPage },
        problems: [],
      },
      ({ caller, query }) => inScope(context, caller, (c) => approvalPageOf(c, query)),
    ),
    route(
      {
        ...look,
        id: 'listDeadLetters',
        path: '/v1/dead-letters',
        tag: 'Operations',
        summary: 'Runs that ended for good without success, with their evidence',
        query: deadLetterQuery,
        answer: { status: 200, schema: deadLetterPage },
        problems: [],
      },
      ({ caller, query }) => inScope(context, caller, (c) => deadLetterPageOf(c, query)),
    ),
    route(
      {
        ...look,
        id: 'explain',
        path: '/v1/explain',
        tag: 'Why',
        summary:
          'The causal chain behind a delivery id, receipt, run, task, work key, owner/repo#7, URL of the forge, or SHA',
        query: explainQuery,
        answer: { status: 200, schema: explanationSchema },
        problems: [],
      },
      ({ caller, query }) =>
        inScope(context, caller, (c) => explanationOf(context, caller, c, waiting, query.ref)),
    ),
  ];
}
