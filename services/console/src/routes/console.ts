/** What the web console asks besides: who it is, the figures of its head, what can be filtered by, and the stream. */
import type { ServiceContext } from '@headgate/service';
import { type Route, route } from '../http/index.js';
import { facetsOf, inScope, overviewOf, tenantKey } from '../queries/index.js';
import { callerSchema, facetsSchema, filterText, overviewSchema, z } from '../schemas/index.js';
import type { EventStream } from '../stream/index.js';
import { runIdOf } from './read.js';

const nothing = z.strictObject({});
const look = { method: 'get', role: 'viewer', body: null, tag: 'Console' } as const;

export function consolePageRoutes(
  context: ServiceContext,
  stream: EventStream,
  version: string,
): readonly Route[] {
  return [
    route(
      {
        ...look,
        id: 'getCaller',
        path: '/v1/caller',
        summary: 'Who asks: the token, its role, and the tenant it is bound to',
        query: nothing,
        answer: { status: 200, schema: callerSchema },
        problems: [],
      },
      async ({ caller }) => ({
        name: caller.name,
        role: caller.role,
        tenant: caller.tenantId === null ? null : await inScope(context, caller, tenantKey),
        version,
      }),
    ),
    route(
      {
        ...look,
        id: 'getOverview',
        path: '/v1/overview',
        summary: 'What runs, what waits and for what, and what today has cost',
        query: nothing,
        answer: { status: 200, schema: overviewSchema },
        problems: [],
      },
      ({ caller }) => inScope(context, caller, (c) => overviewOf(context, c)),
    ),
    route(
      {
        ...look,
        id: 'getFacets',
        path: '/v1/facets',
        summary: 'What runs can be filtered by',
        query: nothing,
        answer: { status: 200, schema: facetsSchema },
        problems: [],
      },
      ({ caller }) => inScope(context, caller, (c) => facetsOf(context, caller, c)),
    ),
    route(
      {
        ...look,
        id: 'stream',
        path: '/v1/stream',
        summary: 'What happens to runs and tasks, as it is committed',
        query: z.strictObject({ runId: filterText }),
        answer: { status: 200, schema: 'events' },
        problems: [404, 503],
      },
      async ({ caller, query, request, response }) => {
        await stream.serve(caller, request, response, {
          lastPlace: request.get('last-event-id') ?? null,
          runId: query.runId === undefined ? null : runIdOf(query.runId),
        });
      },
    ),
  ];
}
