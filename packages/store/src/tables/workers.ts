/** worker: who is alive and what they offer (Q14, Q20). */
import type { Capabilities, WorkerId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export type WorkerState = 'STARTING' | 'READY' | 'DRAINING' | 'STOPPED' | 'DEAD';

export interface WorkerRegistration {
  readonly id: WorkerId;
  readonly name: string;
  readonly capabilities: Capabilities;
  readonly queueIds: readonly number[];
  readonly slots: number;
  readonly leaseTtlMs: number;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
}

const register = statement(
  'worker.register',
  `insert into headgate.worker (id, name, state, capabilities, queue_ids, slots, lease_ttl_ms, host, pid, version)
   values ($1, $2, 'STARTING', $3, $4, $5, $6, $7, $8, $9)`,
);
const setState = statement(
  'worker.set_state',
  `update headgate.worker set state = $2, heartbeat_at = clock_timestamp(),
          stopped_at = case when $2 in ('STOPPED', 'DEAD') then clock_timestamp() end
    where id = $1 and state not in ('STOPPED', 'DEAD')`,
);
// What a new policy changes for a worker that lives on. STOPPED and DEAD absorb.
const offer = statement(
  'worker.offer',
  `update headgate.worker set queue_ids = $2, lease_ttl_ms = $3, heartbeat_at = clock_timestamp()
    where id = $1 and state not in ('STOPPED', 'DEAD')`,
);
const isReady = statement(
  'worker.is_ready',
  `select 1 from headgate.worker where id = $1 and state = 'READY'`,
);
// Index: worker_live.
const live = statement(
  'worker.live',
  `select w.id, w.name, w.state, w.capabilities, w.queue_ids as "queueIds", w.slots
     from headgate.worker w
    where w.state = 'READY'
      and w.heartbeat_at > clock_timestamp() - w.lease_ttl_ms * interval '1 millisecond'
    order by w.id`,
);
const declareDead = statement(
  'worker.declare_dead',
  `with stale as materialized (
     select id from headgate.worker
      where state in ('STARTING', 'READY', 'DRAINING')
        and heartbeat_at < clock_timestamp() - 2 * lease_ttl_ms * interval '1 millisecond'
      order by id limit $1 for update skip locked
   )
   update headgate.worker w set state = 'DEAD', stopped_at = clock_timestamp() from stale where w.id = stale.id
   returning w.id, w.name`,
);

export interface LiveWorker {
  readonly id: WorkerId;
  readonly name: string;
  readonly state: WorkerState;
  readonly capabilities: Capabilities;
  readonly queueIds: readonly number[];
  readonly slots: number;
}

export const workers = {
  register: (c: Connection, w: WorkerRegistration): Promise<number> =>
    c.count(register, [
      w.id,
      w.name,
      JSON.stringify(w.capabilities),
      w.queueIds,
      w.slots,
      w.leaseTtlMs,
      w.host,
      w.pid,
      w.version,
    ]),
  /** STOPPED and DEAD absorb. False when the row did not move. */
  setState: async (c: Connection, id: WorkerId, state: WorkerState): Promise<boolean> =>
    (await c.count(setState, [id, state])) > 0,
  /** False when the row is gone or has ended. */
  offer: async (
    c: Connection,
    id: WorkerId,
    change: Pick<WorkerRegistration, 'queueIds' | 'leaseTtlMs'>,
  ): Promise<boolean> => (await c.count(offer, [id, change.queueIds, change.leaseTtlMs])) > 0,
  isReady: async (c: Connection, id: WorkerId): Promise<boolean> => (await c.run(isReady, [id])).length > 0,
  /** READY and beating within their own lease TTL. */
  live: (c: Connection): Promise<LiveWorker[]> => c.run<LiveWorker>(live),
  /** Those whose heartbeat is older than two TTLs; DEAD from now on. */
  declareDead: (c: Connection, limit: number): Promise<{ id: WorkerId; name: string }[]> =>
    c.run(declareDead, [limit]),
};
