/** What a run left: its sealed result, and the logs of its attempts. */
import type { FileHandle } from 'node:fs/promises';
import { formatId, type RunId } from '@headgate/domain';
import type { ServiceContext } from '@headgate/service';
import { openBelow } from '../files/open-below.js';
import { notFound, type Route, route } from '../http/index.js';
import { logFiles, logPath, readLogName } from '../logs/log-files.js';
import { readBackwards, readForwards } from '../logs/log-range.js';
import { searchLog } from '../logs/log-search.js';
import { artifactFiles, attemptNumbers, inScope, runExists, runResult } from '../queries/index.js';
import {
  logFilePage,
  logMatchesSchema,
  logQuery,
  logRangeSchema,
  logSearch,
  runResultSchema,
  z,
} from '../schemas/index.js';
import { runIdOf } from './read.js';

const nothing = z.strictObject({});
const look = { method: 'get', role: 'viewer', body: null, tag: 'Runs', problems: [404] } as const;

export function evidenceRoutes(context: ServiceContext): readonly Route[] {
  return [
    route(
      {
        ...look,
        id: 'getResult',
        path: '/v1/runs/{id}/result',
        summary: 'What a run sealed before its first side effect; its diff is an artifact',
        query: nothing,
        answer: { status: 200, schema: runResultSchema },
      },
      async ({ caller, params }) => {
        const id = runIdOf(params['id']);
        const result = await inScope(context, caller, (c) => runResult(c, id));
        if (result === null) throw notFound(`A sealed result of ${params['id']}`);
        return result;
      },
    ),
    route(
      {
        ...look,
        id: 'listLogs',
        path: '/v1/runs/{id}/logs',
        summary: 'The logs of a run’s attempts, also of one that is being written',
        query: nothing,
        answer: { status: 200, schema: logFilePage },
      },
      async ({ caller, params }) => {
        const id = runIdOf(params['id']);
        const { attempts, files } = await inScope(context, caller, async (c) => {
          if (!(await runExists(c, id))) throw notFound(`Run ${params['id']}`);
          return { attempts: await attemptNumbers(c, id), files: await artifactFiles(c, id) };
        });
        const items = await logFiles(context.paths.artifacts, id, attempts, files);
        return { items, nextCursor: null };
      },
    ),
    route(
      {
        ...look,
        id: 'readLog',
        path: '/v1/runs/{id}/logs/{name}',
        summary: 'A stretch of a log: from a byte on, or up to one',
        query: logQuery,
        answer: { status: 200, schema: logRangeSchema },
      },
      ({ caller, params, query }) =>
        withLog(context, caller, { ...params, attempt: query.attempt }, async (log) => {
          const { handle, bytes, isComplete } = log;
          const { offset, before = bytes, limit } = query;
          const stretch =
            offset === undefined
              ? await readBackwards(handle, { before, limit, bytes })
              : await readForwards(handle, { offset, limit, bytes, isComplete });
          return { attempt: query.attempt, name: log.name, bytes, isComplete, ...stretch };
        }),
    ),
    route(
      {
        ...look,
        id: 'searchLog',
        path: '/v1/runs/{id}/logs/{name}/matches',
        summary: 'Lines of a log that hold a text, whatever its case',
        query: logSearch,
        answer: { status: 200, schema: logMatchesSchema },
      },
      ({ caller, params, query }) =>
        withLog(context, caller, { ...params, attempt: query.attempt }, async ({ handle, name, bytes }) => ({
          attempt: query.attempt,
          name,
          ...(await searchLog(handle, { text: query.text, offset: query.offset ?? 0, bytes })),
        })),
    ),
  ];
}

interface OpenLog {
  readonly handle: FileHandle;
  readonly name: string;
  readonly bytes: number;
  readonly isComplete: boolean;
}

/** Opens a log that the caller may read, for as long as `read` takes. */
async function withLog<T>(
  context: ServiceContext,
  caller: Parameters<typeof inScope>[1],
  asked: { readonly id?: string; readonly name?: string; readonly attempt: number },
  read: (log: OpenLog) => Promise<T>,
): Promise<T> {
  const id = runIdOf(asked.id);
  const name = asked.name ?? '';
  const attempts = await inScope(context, caller, (c) => attemptNumbers(c, id));
  const attempt = attempts.find((one) => one.number === asked.attempt);
  const handle =
    attempt === undefined || readLogName(name) === null
      ? null
      : await openBelow(context.paths.artifacts, logPath(id, attempt.number, name));
  if (attempt === undefined || handle === null) throw noLog(id, name, asked.attempt);
  try {
    const { size } = await handle.stat();
    return await read({ handle, name, bytes: size, isComplete: !attempt.isRunning });
  } finally {
    await handle.close();
  }
}

const noLog = (id: RunId, name: string, attempt: number) =>
  notFound(
    `Log ${name} of attempt ${attempt} of ${formatId('run', id)} (or it lies with the worker that wrote it)`,
  );
