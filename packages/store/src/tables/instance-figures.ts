/** Figures of the whole instance, for gauges. */
import type { OperationKind, OperationState } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export interface InstanceFigures {
  readonly leases: number;
  /** Workers that beat within their own lease TTL. */
  readonly workers: number;
  /** Longest time since the last beat of one that is not stopped or dead; 0 without any. */
  readonly heartbeatLagSeconds: number;
  /** 0 without any. */
  readonly oldestAmbiguousSeconds: number;
  readonly operations: readonly {
    readonly kind: OperationKind;
    readonly state: OperationState;
    readonly count: number;
  }[];
}

// Indexes: worker_live, operation_unsettled, and of the operations the last day by their key (UUIDv7).
const read = statement(
  'instance.figures',
  `select (select count(*)::int from headgate.lease) as leases, w.workers, w.lag as "heartbeatLagSeconds",
          o.oldest as "oldestAmbiguousSeconds", o.counted as operations
     from (select (count(*) filter (
                    where state = 'READY' and heartbeat_at > clock_timestamp() - lease_ttl_ms * interval '1 millisecond'))::int
                    as workers,
                  coalesce(max(extract(epoch from clock_timestamp() - heartbeat_at)), 0)::float8 as lag
             from headgate.worker where state in ('STARTING', 'READY', 'DRAINING')) w
     cross join (
       select coalesce(max(age) filter (where state = 'ambiguous'), 0)::float8 as oldest,
              coalesce(jsonb_agg(jsonb_build_object('kind', kind, 'state', state, 'count', n)), '[]') as counted
         from (
           select kind, state, count(*)::int as n, max(extract(epoch from clock_timestamp() - ambiguous_at)) as age
             from (select * from headgate.operation where state in ('attempted', 'ambiguous')
                   union all
                   select * from headgate.operation
                    where state not in ('attempted', 'ambiguous')
                      and id >= headgate.uuid7_floor(now() - interval '1 day')) recent
            group by kind, state) grouped) o`,
);

export async function readInstanceFigures(c: Connection): Promise<InstanceFigures> {
  const [figures] = await c.run<InstanceFigures>(read);
  if (figures === undefined) throw new Error('the database gave no figures');
  return figures;
}
