/** Plain hooks of repositories and organisations: which there are, the log of each, and asking for a delivery again. */
import { notFound, pageOf } from './answers.js';
import type { AppCall, AppEndpoint } from './endpoint.js';

const OWNERS = ['/repos/:owner/:repo', '/orgs/:owner'] as const;

const ownerOf = ({ params }: AppCall): string =>
  [params['owner'], params['repo']].filter((part) => part !== undefined).join('/');

const isAuthorised = ({ authorization }: AppCall): boolean => authorization !== undefined;

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
    handleApp: (call) =>
      isAuthorised(call)
        ? { status: 200, body: hooksOf(call).map(({ id, url }) => ({ id, config: { url } })) }
        : notFound,
  },
  {
    method: 'get',
    path: `${place}/hooks/:hook/deliveries`,
    handleApp: (call) => {
      const log = isAuthorised(call) ? logOf(call) : null;
      return log === null ? notFound : pageOf(call.query, log);
    },
  },
  {
    method: 'post',
    path: `${place}/hooks/:hook/deliveries/:id/attempts`,
    handleApp: async (call) => {
      const found = logOf(call)?.find(({ id }) => String(id) === call.params['id']);
      if (found === undefined) return notFound;
      await call.deliveries.redeliver(found.guid);
      return { status: 202, body: {}, effect: { kind: 'delivery.asked', objectId: found.guid } };
    },
  },
];

export const hookEndpoints: readonly AppEndpoint[] = OWNERS.flatMap(endpointsOf);
