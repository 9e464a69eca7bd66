/** What the runs page is filtered by, as it stands in its address. */
import type { RunQuery } from '@headgate/sdk';

export const STATUSES = ['waiting', 'running', 'succeeded', 'failed', 'cancelled', 'skipped'] as const;

export const SINCE = {
  '1h': { label: 'the last hour', ms: 3_600_000 },
  '24h': { label: 'the last 24 hours', ms: 24 * 3_600_000 },
  '7d': { label: 'the last 7 days', ms: 7 * 24 * 3_600_000 },
} as const;
const SINCE_NAMES = Object.keys(SINCE).filter((name): name is keyof typeof SINCE =>
  Object.hasOwn(SINCE, name),
);

export type FilterName = 'status' | 'route' | 'repository' | 'tenant' | 'since' | 'waiting';
export type Filters = Readonly<Partial<Record<FilterName, string>>>;

const NAMES: readonly FilterName[] = ['status', 'route', 'repository', 'tenant', 'since', 'waiting'];

export const readFilters = (params: URLSearchParams): Filters =>
  Object.fromEntries(
    NAMES.flatMap((name) => {
      const value = params.get(name);
      return value === null || value === '' ? [] : [[name, value]];
    }),
  );

const isOneOf = <T extends string>(list: readonly T[], value: string | undefined): value is T =>
  list.some((one) => one === value);

/** What cannot be asked for is left out: an address is typed by people. */
export function queryOf(filters: Filters, nowMs: number): RunQuery {
  const { status, route, repository, tenant, since, waiting } = filters;
  return {
    ...(isOneOf(STATUSES, status) ? { publicStatus: status } : {}),
    ...(route === undefined ? {} : { route }),
    ...(repository === undefined ? {} : { repository }),
    ...(tenant === undefined ? {} : { tenant }),
    ...(waiting !== undefined && /^[A-Z_]+$/.test(waiting)
      ? { waitingReason: waiting as NonNullable<RunQuery['waitingReason']> }
      : {}),
    ...(isOneOf(SINCE_NAMES, since) ? { since: new Date(nowMs - SINCE[since].ms).toISOString() } : {}),
  };
}
