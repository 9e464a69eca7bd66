/** target_touch: when a person last acted on a target, a branch or a piece of work. */
import { hash16 } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export interface TouchSubject {
  readonly tenantId: number;
  readonly subject: string;
}

// In (tenant, subject) order, so that two batches wait for each other in one direction; a later time wins.
const put = statement(
  'target_touch.put',
  `insert into headgate.target_touch as t (tenant_id, subject, touched_at)
   select g.tenant_id, g.subject, clock_timestamp()
     from (select distinct * from unnest($1::int[], $2::bytea[]) as u(tenant_id, subject)) g
    order by g.tenant_id, g.subject
   on conflict (tenant_id, subject) do update set touched_at = excluded.touched_at
    where t.touched_at < excluded.touched_at`,
);
const read = statement(
  'target_touch.read',
  `select t.tenant_id as "tenantId", t.subject, t.touched_at as "touchedAt"
     from unnest($1::int[], $2::bytea[]) as g(tenant_id, subject)
     join headgate.target_touch t on t.tenant_id = g.tenant_id and t.subject = g.subject`,
);
const forget = statement(
  'target_touch.forget',
  `with old as materialized (
     select ctid from headgate.target_touch where touched_at < statement_timestamp() - $2 * interval '1 day'
      limit $1 for update skip locked
   )
   delete from headgate.target_touch t using old where t.ctid = old.ctid`,
);

const parameters = (subjects: readonly TouchSubject[]) => [
  subjects.map((one) => one.tenantId),
  subjects.map((one) => hash16(one.subject)),
];

export const touches = {
  put: (c: Connection, subjects: readonly TouchSubject[]): Promise<number> =>
    subjects.length === 0 ? Promise.resolve(0) : c.count(put, parameters(subjects)),
  /** In the order asked; null: no person is remembered. */
  read: async (c: Connection, subjects: readonly TouchSubject[]): Promise<readonly (Date | null)[]> => {
    if (subjects.length === 0) return [];
    const rows = await c.run<{ tenantId: number; subject: Buffer; touchedAt: Date }>(
      read,
      parameters(subjects),
    );
    const times = new Map(
      rows.map((row) => [`${row.tenantId}:${row.subject.toString('hex')}`, row.touchedAt]),
    );
    return subjects.map(
      ({ tenantId, subject }) => times.get(`${tenantId}:${hash16(subject).toString('hex')}`) ?? null,
    );
  },
  forgetOlderThan: (c: Connection, limit: number, days: number): Promise<number> =>
    c.count(forget, [limit, days]),
};
