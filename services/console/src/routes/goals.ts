/** What people look at and do with goals. Their keeper goes on from the row that is changed here. */
import { formatId, type GoalId, parseId } from '@headgate/domain';
import type { GoalDetail } from '@headgate/sdk';
import type { ServiceContext } from '@headgate/service';
import { type GoalControlled, pauseGoal, resetGoal, resumeGoal } from '@headgate/store';
import { actorOf, type Caller } from '../auth/index.js';
import { notFound, type Route, route, wrongState } from '../http/index.js';
import { goalDetail, goalPageOf, inScope } from '../queries/index.js';
import { goalDetailSchema, goalPage, pauseBody, plainPageQuery, resetGoalBody, z } from '../schemas/index.js';

const nothing = z.strictObject({});
const look = { method: 'get', role: 'viewer', body: null, tag: 'Goals' } as const;
const act = {
  method: 'post',
  role: 'operator',
  query: nothing,
  tag: 'Goals',
  answer: { status: 202, schema: goalDetailSchema },
  problems: [404, 409, 503],
} as const;

export function goalRoutes(context: ServiceContext): readonly Route[] {
  return [
    route(
      {
        ...look,
        id: 'listGoals',
        path: '/v1/goals',
        summary: 'Goals, newest first',
        query: plainPageQuery,
        answer: { status: 200, schema: goalPage },
        problems: [],
      },
      ({ caller, query }) => inScope(context, caller, (c) => goalPageOf(c, query)),
    ),
    route(
      {
        ...look,
        id: 'getGoal',
        path: '/v1/goals/{id}',
        summary: 'One goal with its newest observations',
        query: nothing,
        answer: { status: 200, schema: goalDetailSchema },
        problems: [404],
      },
      ({ caller, params }) => shown(context, caller, goalIdOf(params['id'])),
    ),
    route(
      {
        ...act,
        id: 'pauseGoal',
        path: '/v1/goals/{id}/pause',
        summary: 'Pause a goal: what is under way goes on, nothing more begins',
        body: pauseBody,
      },
      ({ caller, params, body }) =>
        controlled(context, caller, params['id'], (id, options) =>
          pauseGoal(context.database.api, id, { ...options, note: body.note ?? null }),
        ),
    ),
    route(
      {
        ...act,
        id: 'resumeGoal',
        path: '/v1/goals/{id}/resume',
        summary: 'Let a paused goal go on, with the bounds it has left',
        body: nothing,
      },
      ({ caller, params }) =>
        controlled(context, caller, params['id'], (id, options) =>
          resumeGoal(context.database.api, id, options),
        ),
    ),
    route(
      {
        ...act,
        id: 'resetGoal',
        path: '/v1/goals/{id}/reset',
        summary: 'Begin a goal anew, with all its bounds; also one that is done or given up',
        body: resetGoalBody,
      },
      ({ caller, params, body }) =>
        controlled(context, caller, params['id'], (id, options) =>
          resetGoal(context.database.api, id, { ...options, reason: body.reason ?? null }),
        ),
    ),
  ];
}

function goalIdOf(text: string | undefined): GoalId {
  const id = parseId('goal', text ?? '');
  if (id === null) throw notFound(`Goal ${text}`);
  return id;
}

async function shown(context: ServiceContext, caller: Caller, id: GoalId): Promise<GoalDetail> {
  const found = await inScope(context, caller, (c) => goalDetail(c, id));
  if (found === null) throw notFound(`Goal ${formatId('goal', id)}`);
  return found;
}

async function controlled(
  context: ServiceContext,
  caller: Caller,
  text: string | undefined,
  control: (
    id: GoalId,
    options: { readonly actor: string; readonly tenants: readonly number[] },
  ) => Promise<GoalControlled>,
): Promise<GoalDetail> {
  const id = goalIdOf(text);
  const result = await control(id, { actor: actorOf(caller), tenants: caller.tenants });
  switch (result) {
    case 'unknown':
      throw notFound(`Goal ${text}`);
    case 'ended':
      throw wrongState(`Goal ${text} has ended. Reset it to begin anew.`);
    case 'busy':
      throw wrongState(`A run of goal ${text} has not ended. Cancel it first, or wait for it.`);
    case 'done':
    case 'already':
      await context.bus.wake('timers', { tenantId: 0 });
      return shown(context, caller, id);
  }
}
