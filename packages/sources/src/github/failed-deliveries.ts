/**
 * What GitHub could not deliver. Its log knows every try for about three days; all tries of an event share its GUID. An
 * event without a single success may be asked for again.
 */
import { z } from 'zod';
import type { GithubClient, GithubFailure, GithubOutcome, GithubSource } from './client/index.js';
import { organizationPath, repositoryPath } from './client/index.js';

/** Where a hook's log is: the App's own, a repository's hook, or one of its organisation. */
export type HookPlace =
  | { readonly kind: 'app' }
  | { readonly kind: 'repository'; readonly fullName: string; readonly hookId: string }
  /** `fullName`: a repository of it, whose installation asks. */
  | {
      readonly kind: 'organization';
      readonly organization: string;
      readonly fullName: string;
      readonly hookId: string;
    };

export interface FailedDelivery {
  readonly guid: string;
  /** Of the newest try: what is asked for again. */
  readonly id: number;
  readonly event: string;
  readonly tries: number;
}

export type DeliveryLog =
  | { readonly kind: 'log'; readonly failed: readonly FailedDelivery[] }
  | { readonly kind: 'failed'; readonly failure: GithubFailure };

const tries = z.array(
  z.object({
    id: z.number(),
    guid: z.string().min(1).max(128),
    delivered_at: z.string(),
    status_code: z.number().nullish(),
    event: z.string().catch(''),
  }),
);

/** GitHub lets a delivery be sent again for three days; a little less, so that no request comes too late. */
const WINDOW_MS = 3 * 86_400_000 - 3_600_000;
const MOST_PAGES = 20;

export async function readFailedDeliveries(
  client: GithubClient,
  source: GithubSource,
  place: HookPlace,
  now: Date,
): Promise<DeliveryLog> {
  const seen = new Map<string, FailedDelivery & { isDelivered: boolean }>();
  let path: string | null = deliveriesPath(place);
  for (let page = 0; path !== null && page < MOST_PAGES; page += 1) {
    const query: { query?: Record<string, number> } = page === 0 ? { query: { per_page: 100 } } : {};
    const answer: GithubOutcome<z.output<typeof tries>> = await client.read({
      source,
      repository: repositoryOf(place),
      path,
      shape: tries,
      ...query,
    });
    if (answer.kind === 'unchanged') break;
    if (answer.kind !== 'found') return { kind: 'failed', failure: answer };
    const young: z.output<typeof tries> = answer.value.filter(
      (one) => now.getTime() - Date.parse(one.delivered_at) < WINDOW_MS,
    );
    for (const one of young) {
      const known = seen.get(one.guid) ?? { ...one, tries: 0, isDelivered: false };
      const isDelivered = known.isDelivered || isSuccess(one.status_code ?? 0);
      seen.set(one.guid, { ...known, tries: known.tries + 1, isDelivered });
    }
    path = young.length < answer.value.length ? null : answer.next;
  }
  const failed = [...seen.values()].filter((one) => !one.isDelivered);
  return {
    kind: 'log',
    failed: failed.map(({ guid, id, event, tries: count }) => ({ guid, id, event, tries: count })),
  };
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

export const repositoryOf = (place: HookPlace): string | null =>
  place.kind === 'app' ? null : place.fullName;

export function deliveriesPath(place: HookPlace): string {
  switch (place.kind) {
    case 'app':
      return '/app/hook/deliveries';
    case 'repository':
      return repositoryPath(place.fullName, 'hooks', place.hookId, 'deliveries');
    case 'organization':
      return organizationPath(place.organization, 'hooks', place.hookId, 'deliveries');
  }
}

/** What an App must have been granted to have a delivery sent again. */
export function redeliveryRights(place: HookPlace): readonly string[] {
  switch (place.kind) {
    case 'app':
      return [];
    case 'repository':
      return ['repository_hooks'];
    case 'organization':
      return ['organization_hooks'];
  }
}

const hooks = z.array(
  z.object({ id: z.int(), config: z.object({ url: z.string().catch('') }).catch({ url: '' }) }),
);

/** The hooks of a repository that lead to this source. */
export async function readHooks(
  client: GithubClient,
  source: GithubSource,
  fullName: string,
): Promise<readonly HookPlace[] | GithubFailure> {
  const found = await hookIds(client, source, fullName, repositoryPath(fullName, 'hooks'));
  return 'kind' in found ? found : found.map((hookId) => ({ kind: 'repository', fullName, hookId }));
}

/** Those of its organisation; none where a person owns it, or where nobody may ask. */
export async function readOrganizationHooks(
  client: GithubClient,
  source: GithubSource,
  fullName: string,
): Promise<readonly HookPlace[] | GithubFailure> {
  const [organization = ''] = fullName.split('/');
  const found = await hookIds(client, source, fullName, organizationPath(organization, 'hooks'));
  if ('kind' in found) return found.kind === 'absent' || found.kind === 'denied' ? [] : found;
  return found.map((hookId) => ({ kind: 'organization', organization, fullName, hookId }));
}

async function hookIds(
  client: GithubClient,
  source: GithubSource,
  fullName: string,
  path: string,
): Promise<readonly string[] | GithubFailure> {
  const answer = await client.read({
    ...{ source, repository: fullName, path, shape: hooks },
    query: { per_page: 100 },
  });
  if (answer.kind === 'unchanged') return [];
  if (answer.kind !== 'found') return answer;
  return answer.value
    .filter(({ config }) => config.url.replace(/\/+$/, '').endsWith(`/webhooks/${source.id}`))
    .map(({ id }) => String(id));
}
