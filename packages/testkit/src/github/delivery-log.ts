/** Hooks and their deliveries as GitHub's REST API shows them. */
import type { LoggedDelivery } from './deliveries.js';
import type { Answer } from './endpoint.js';
import type { ForgeHook } from './forge-state.js';

export const shownHook = ({ id, owner, url }: ForgeHook) => ({
  type: owner.includes('/') ? 'Repository' : 'Organization',
  id,
  name: 'web',
  active: true,
  events: ['*'],
  config: { url, content_type: 'json', insecure_ssl: '0', secret: '********' },
});

/** A log is paged by a cursor, the delivery that the page begins at; there is no page number. */
export function logPage(query: Readonly<Record<string, string>>, log: readonly LoggedDelivery[]): Answer {
  const size = Math.min(100, Number(query['per_page'] ?? 30));
  const { cursor } = query;
  const found = cursor === undefined ? 0 : log.findIndex(({ id }) => String(id) === cursor);
  const start = found < 0 ? log.length : found;
  const next = log[start + size];
  return {
    status: 200,
    body: log.slice(start, start + size).map(shown),
    ...(next === undefined ? {} : { hasNextPage: true, nextCursor: String(next.id) }),
  };
}

const shown = ({ hookId: _hook, ...one }: LoggedDelivery) => ({
  ...one,
  duration: 0.1,
  status: one.status_code >= 200 && one.status_code < 300 ? 'OK' : 'Invalid HTTP Response',
  action: null,
  throttled_at: null,
});
