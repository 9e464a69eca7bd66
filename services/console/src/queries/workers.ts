import { type Capabilities, formatId, type WorkerId } from '@headgate/domain';
import type { Page, Worker } from '@headgate/sdk';
import type { Connection } from '@headgate/store';
import { type SQL, sql } from 'drizzle-orm';
import type { z } from 'zod';
import type { workerQuery } from '../schemas/index.js';
import { instantOf, instantOrNull } from './instants.js';
import { pageOf } from './page.js';
import { list, rows } from './read.js';

interface WorkerRow {
  readonly id: WorkerId;
  readonly name: string;
  readonly state: Worker['state'];
  readonly isLive: boolean;
  readonly capabilities: Capabilities;
  readonly queues: string[];
  readonly slots: number;
  readonly held: number;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly registeredAt: Date;
  readonly heartbeatAt: Date;
  readonly stoppedAt: Date | null;
}

/** Workers belong to the instance; the leases counted are those of the caller's tenants. */
export async function workerPageOf(c: Connection, query: z.infer<typeof workerQuery>): Promise<Page<Worker>> {
  const filters: SQL[] = query.state === undefined ? [] : [sql`x.state = ${query.state}`];
  const { ids, nextCursor } = await pageOf<WorkerId>(c, {
    from: sql`headgate.worker x`,
    within: [],
    filters,
    columns: ['state'],
    limit: query.limit,
    cursor: query.cursor,
  });
  if (ids.length === 0) return { items: [], nextCursor };
  const found = await rows<WorkerRow>(
    c,
    sql`select w.id, w.name, w.state,
               w.state = 'READY'
                 and w.heartbeat_at > clock_timestamp() - w.lease_ttl_ms * interval '1 millisecond' as "isLive",
               w.capabilities,
               array(select d.key from headgate.dimension d
                      where d.tenant_id = 0 and d.kind = 'queue' and d.id = any (w.queue_ids) order by d.key) as queues,
               w.slots, (select count(*)::int from headgate.lease l where l.worker_id = w.id) as held, w.host, w.pid,
               w.version, w.registered_at as "registeredAt", w.heartbeat_at as "heartbeatAt",
               w.stopped_at as "stoppedAt"
          from headgate.worker w where w.id = any (${list(ids, 'uuid')}) order by w.id desc`,
  );
  return {
    nextCursor,
    items: found.map((row) => ({
      ...row,
      id: formatId('wkr', row.id),
      capabilities: plain(row.capabilities),
      registeredAt: instantOf(row.registeredAt),
      heartbeatAt: instantOf(row.heartbeatAt),
      stoppedAt: instantOrNull(row.stoppedAt),
    })),
  };
}

const plain = (capabilities: Capabilities): Worker['capabilities'] =>
  Object.fromEntries(
    Object.entries(capabilities).map(([name, value]) => [
      name,
      typeof value === 'object' ? [...value] : value,
    ]),
  );
