/** What people look at and do with schedules. A ticker does what is asked for here; the row says how far it is. */
import { formatId, nextTicks, parseId, type ScheduleId, ticksIn } from '@headgate/domain';
import type { Backfill, ScheduleDetail, ScheduleRequest } from '@headgate/sdk';
import type { ServiceContext } from '@headgate/service';
import {
  type AskedRequest,
  type Connection,
  type Controlled,
  pauseSchedule,
  requestTicks,
  resumeSchedule,
  schedules,
  scheduleTicks,
} from '@headgate/store';
import { actorOf, type Caller } from '../auth/index.js';
import { badRequest, notFound, type Route, route } from '../http/index.js';
import { inScope, instantOf, scheduleDetail, schedulePageOf, scheduleRequest } from '../queries/index.js';
import {
  backfillBody,
  backfillSchema,
  pauseBody,
  plainPageQuery,
  scheduleDetailSchema,
  schedulePage,
  scheduleRequestSchema,
  triggerBody,
  z,
} from '../schemas/index.js';

const nothing = z.strictObject({});
const look = { method: 'get', role: 'viewer', body: null, tag: 'Schedules' } as const;
const act = {
  method: 'post',
  role: 'operator',
  query: nothing,
  tag: 'Schedules',
  problems: [404, 503],
} as const;

/** More nominal times than this are several back-fills: a typing error must not make ten thousand runs. */
const MOST_TIMES = 1_000;
const SHOWN_TIMES = 20;

export function scheduleRoutes(context: ServiceContext): readonly Route[] {
  return [
    route(
      {
        ...look,
        id: 'listSchedules',
        path: '/v1/schedules',
        summary: 'Schedules with their 10 recent and 10 next ticks',
        query: plainPageQuery,
        answer: { status: 200, schema: schedulePage },
        problems: [],
      },
      ({ caller, query }) => inScope(context, caller, (c) => schedulePageOf(c, query)),
    ),
    route(
      {
        ...look,
        id: 'getSchedule',
        path: '/v1/schedules/{id}',
        summary: 'One schedule with its recent and next ticks, counts, live runs and requests',
        query: nothing,
        answer: { status: 200, schema: scheduleDetailSchema },
        problems: [404],
      },
      ({ caller, params }) => shown(context, caller, scheduleIdOf(params['id'])),
    ),
    route(
      {
        ...look,
        id: 'getScheduleRequest',
        path: '/v1/schedules/{id}/requests/{request}',
        summary: 'How far a "run now" or a back-fill is',
        query: nothing,
        answer: { status: 200, schema: scheduleRequestSchema },
        problems: [404],
      },
      async ({ caller, params }) => {
        const id = scheduleIdOf(params['id']);
        const requestId = parseId('sreq', params['request'] ?? '');
        const found =
          requestId === null
            ? null
            : await inScope(context, caller, (c) => scheduleRequest(c, id, requestId));
        if (found === null) throw notFound(`Request ${params['request']}`);
        return found;
      },
    ),
    route(
      {
        ...act,
        id: 'pauseSchedule',
        path: '/v1/schedules/{id}/pause',
        summary: 'Pause a schedule: the times that pass are counted as paused, and never run',
        body: pauseBody,
        answer: { status: 202, schema: scheduleDetailSchema },
      },
      ({ caller, params, body }) =>
        controlled(context, caller, params['id'], (id, options) =>
          pauseSchedule(context.database.api, id, { ...options, note: body.note ?? null }),
        ),
    ),
    route(
      {
        ...act,
        id: 'resumeSchedule',
        path: '/v1/schedules/{id}/resume',
        summary: 'Let a paused schedule tick again, from now on',
        body: nothing,
        answer: { status: 202, schema: scheduleDetailSchema },
      },
      ({ caller, params }) =>
        controlled(context, caller, params['id'], (id, options) =>
          resumeSchedule(context.database.api, id, options),
        ),
    ),
    route(
      {
        ...act,
        id: 'triggerSchedule',
        path: '/v1/schedules/{id}/trigger',
        summary: 'Run a schedule now, under its own overlap rule or the given one',
        body: triggerBody,
        answer: { status: 202, schema: scheduleRequestSchema },
      },
      ({ caller, params, body }) =>
        asked(context, caller, scheduleIdOf(params['id']), {
          kind: 'trigger',
          overlap: body.overlap ?? null,
          reason: body.reason ?? null,
          span: null,
        }),
    ),
    route(
      {
        ...act,
        id: 'backfillSchedule',
        path: '/v1/schedules/{id}/backfill',
        summary: 'Run the nominal times of a span that were not fired; dryRun only counts them',
        body: backfillBody,
        answer: { status: 202, schema: backfillSchema },
      },
      ({ caller, params, body }) => backfilled(context, caller, scheduleIdOf(params['id']), body),
    ),
  ];
}

function scheduleIdOf(text: string | undefined): ScheduleId {
  const id = parseId('sch', text ?? '');
  if (id === null) throw notFound(`Schedule ${text}`);
  return id;
}

const scopeOf = (caller: Caller) => ({ actor: actorOf(caller), tenants: caller.tenants });

async function shown(context: ServiceContext, caller: Caller, id: ScheduleId): Promise<ScheduleDetail> {
  const found = await inScope(context, caller, (c) => scheduleDetail(c, id));
  if (found === null) throw notFound(`Schedule ${formatId('sch', id)}`);
  return found;
}

/** The same when repeated: what is paused already stays as it is, with its first note. */
async function controlled(
  context: ServiceContext,
  caller: Caller,
  text: string | undefined,
  control: (id: ScheduleId, options: ReturnType<typeof scopeOf>) => Promise<Controlled>,
): Promise<ScheduleDetail> {
  const id = scheduleIdOf(text);
  if ((await control(id, scopeOf(caller))) === 'unknown') throw notFound(`Schedule ${text}`);
  await wake(context);
  return shown(context, caller, id);
}

/** Best effort: tickers look every five seconds. */
const wake = (context: ServiceContext): Promise<void> => context.bus.wake('timers', { tenantId: 0 });

async function asked(
  context: ServiceContext,
  caller: Caller,
  id: ScheduleId,
  request: Omit<AskedRequest, 'id'>,
): Promise<ScheduleRequest> {
  const requestId = await requestTicks(
    context.database.api,
    id,
    { ...request, id: context.ids.next('sreq') },
    scopeOf(caller),
  );
  const found =
    requestId === null ? null : await inScope(context, caller, (c) => scheduleRequest(c, id, requestId));
  if (found === null) throw notFound(`Schedule ${formatId('sch', id)}`);
  await wake(context);
  return found;
}

async function backfilled(
  context: ServiceContext,
  caller: Caller,
  id: ScheduleId,
  body: z.infer<typeof backfillBody>,
): Promise<Backfill> {
  const span = { from: new Date(body.from), until: new Date(body.until) };
  if (span.until < span.from) throw badRequest('body.until: it lies before body.from.');
  const plan = await inScope(context, caller, (c) => planOf(c, id, span));
  const isDry = body.dryRun === true;
  const request = isDry
    ? null
    : await asked(context, caller, id, {
        kind: 'backfill',
        overlap: body.overlap ?? null,
        reason: body.reason ?? null,
        span,
      });
  return { dryRun: isDry, ...plan, request };
}

async function planOf(
  c: Connection,
  id: ScheduleId,
  { from, until }: { readonly from: Date; readonly until: Date },
): Promise<Pick<Backfill, 'times' | 'alreadyFired' | 'first'>> {
  const row = await schedules.find(c, id);
  if (row === null) throw notFound(`Schedule ${formatId('sch', id)}`);
  if (until > row.now)
    throw badRequest('body.until: it lies ahead; a back-fill runs times that have passed.');
  const clock = { times: row.spec, anchor: row.anchorAt };
  const after = new Date(from.getTime() - 1);
  const times = ticksIn(clock, { after, until }).kept?.count ?? 0;
  if (times > MOST_TIMES) {
    throw badRequest(`The span has ${times} nominal times; ask for at most ${MOST_TIMES} at once.`);
  }
  const fired = new Set((await scheduleTicks.doneTimes(c, id, from, until)).map((at) => at.getTime()));
  const all = nextTicks(clock, after, times);
  const left = all.filter((at) => !fired.has(at.getTime()));
  return { times, alreadyFired: times - left.length, first: left.slice(0, SHOWN_TIMES).map(instantOf) };
}
