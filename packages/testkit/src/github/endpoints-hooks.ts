/** Plain hooks of repositories and organisations: which there are, the log of each, and asking for a delivery again. */
import { notFound } from './answers.js';
import { logPage, shownHook } from './delivery-log.js';
import type { Answer, AppCall, AppEndpoint } from './endpoint.js';

const OWNERS = ['/repos/:owner/:repo', '/orgs/:owner'] as const;

const ownerOf = ({ params }: AppCall): string =>
  [params['owner'], params['repo']].filter((part) => part !== undefined).join('/');

const unauthorised: Answer = { status: 401, body: { message: 'Requires authentication' } };
const forbidden: Answer = { status: 403, body: { message: 'Resource not accessible by integration' } };

/** A token of an App needs its webhooks' permission, and for a repository's to be minted for it. Null: it may. */
function refusal(call: AppCall, level: 'read' | 'write'): Answer | null {
  const { state, authorization, params } = call;
  if (authorization === undefined) return notFound;
  const minted = state.tokens.find(({ token }) => authorization === `token ${token}`);
  if (state.app === null) return null;
  if (minted === undefined || minted.isRevoked) return unauthorised;
  const { permissions = state.app.permissions, repositories } = minted.asked;
  const right = params['repo'] === undefined ? 'organization_hooks' : 'repository_hooks';
  const held: unknown = Reflect.get(Object(permissions), right);
  const isScoped =
    params['repo'] === undefined || !Array.isArray(repositories) || repositories.includes(params['repo']);
  return isScoped && (held === 'write' || held === level) ? null : forbidden;
}

const hooksOf = (call: AppCall) =>
  call.state.hooks.filter(({ owner }) => owner.toLowerCase() === ownerOf(call).toLowerCase());

/** The log of one hook, newest first; null: it has no such hook. */
function logOf(call: AppCall) {
  const hook = hooksOf(call).find(({ id }) => String(id) === call.params['hook']);
  return hook === undefined ? null : call.deliveries.log.filter(({ hookId }) => hookId === String(hook.id));
}

const endpointsOf = (place: string): readonly AppEndpoint[] => [
  {
    method: 'get',
    path: `${place}/hooks`,
    handleApp: (call) => refusal(call, 'read') ?? { status: 200, body: hooksOf(call).map(shownHook) },
  },
  {
    method: 'get',
    path: `${place}/hooks/:hook/deliveries`,
    handleApp: (call) => {
      const refused = refusal(call, 'read');
      if (refused !== null) return refused;
      const log = logOf(call);
      return log === null ? notFound : logPage(call.query, log);
    },
  },
  {
    method: 'post',
    path: `${place}/hooks/:hook/deliveries/:id/attempts`,
    handleApp: async (call) => {
      const refused = refusal(call, 'write');
      if (refused !== null) return refused;
      const found = logOf(call)?.find(({ id }) => String(id) === call.params['id']);
      if (found === undefined) return notFound;
      await call.deliveries.redeliver(found.guid, found.hookId);
      return { status: 202, body: {}, effect: { kind: 'delivery.asked', objectId: found.guid } };
    },
  },
];

export const hookEndpoints: readonly AppEndpoint[] = OWNERS.flatMap(endpointsOf);
