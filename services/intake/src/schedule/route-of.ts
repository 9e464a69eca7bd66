/** Where a schedule stands in the active policy. */
import type { RoutePolicy } from '@headgate/domain';
import type { ActivePolicy, ScheduleRow } from '@headgate/store';

type Placed = Pick<ScheduleRow, 'tenantId' | 'route'>;

export const tenantOf = (row: Placed, { tenantIds }: ActivePolicy): string =>
  [...tenantIds].find(([, id]) => id === row.tenantId)?.[0] ?? '';

/** Null: the route is gone, and the schedule will be retired. */
export const routeOf = (row: Placed, { policy, tenantIds }: ActivePolicy): RoutePolicy | null =>
  policy.routes.find((route) => route.id === row.route && tenantIds.get(route.tenant) === row.tenantId) ??
  null;
