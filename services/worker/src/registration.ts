/**
 * This worker's row: who it is, what it offers, which queues it has joined (Q14).
 *
 *   STARTING ─► READY ─► DRAINING ─► STOPPED        the reconciler may say DEAD; STOPPED and DEAD absorb
 *
 * Who writes: this worker its own row, the reconciler DEAD, an operator DRAINING. A worker whose row has ended makes
 * a new one under a new id: what the old id held is lost, and its successor never answers for it.
 * A crash at any point leaves a row whose heartbeat goes stale; nothing else hangs on it but its leases.
 */
import { hostname } from 'node:os';
import { type Capabilities, formatId, type Ids, type LeaseTiming, type WorkerId } from '@headgate/domain';
import { type ActivePolicy, type Dimensions, type Pool, type WorkerState, workers } from '@headgate/store';
import { type Logger, testSignal } from '@headgate/telemetry';
import { queuesToJoin } from './queues.js';

export const WORKER_VERSION = '0.1.0';

export interface RegistrationParts {
  readonly pool: Pool;
  readonly dimensions: Dimensions;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly name: string;
  readonly slots: number;
  /** Queue ids to join; null: all that can be served. */
  readonly queues: readonly string[] | null;
}

/** A worker that stands in the database. */
export interface Registered {
  readonly workerId: WorkerId;
  readonly queues: readonly string[];
  readonly queueIds: readonly number[];
}

export class Registration {
  readonly #parts: RegistrationParts;
  readonly #capabilities: Capabilities;
  #current: Registered | null = null;

  constructor(parts: RegistrationParts, capabilities: Capabilities) {
    this.#parts = parts;
    this.#capabilities = capabilities;
  }

  get current(): Registered | null {
    return this.#current;
  }

  get capabilities(): Capabilities {
    return this.#capabilities;
  }

  /** Makes a row of a new id, READY at its end. Throws when Postgres does not answer. */
  async register(active: ActivePolicy): Promise<Registered> {
    const { pool, ids, name, slots, logger } = this.#parts;
    const { queues, queueIds } = await this.#join(active);
    const workerId = ids.next('wkr');
    await pool.use(async (c) => {
      await workers.register(c, {
        id: workerId,
        name,
        capabilities: this.#capabilities,
        queueIds,
        slots,
        leaseTtlMs: active.policy.lease.ttlMs,
        host: hostname(),
        pid: process.pid,
        version: WORKER_VERSION,
      });
      await workers.setState(c, workerId, 'READY');
    });
    this.#current = { workerId, queues, queueIds };
    logger.info(
      { workerId: formatId('wkr', workerId), name, slots, queues, capabilities: this.#capabilities },
      'worker registered',
    );
    testSignal('worker.registered', { workerId, queues });
    return this.#current;
  }

  /** The policy is another: which queues there are, and how long a lease lives. False: the row has ended. */
  async adapt(active: ActivePolicy): Promise<boolean> {
    const current = this.#current;
    if (current === null) return false;
    const { queues, queueIds } = await this.#join(active);
    const stands = await this.#parts.pool.use((c) =>
      workers.offer(c, current.workerId, { queueIds, leaseTtlMs: active.policy.lease.ttlMs }),
    );
    if (stands) this.#current = { workerId: current.workerId, queues, queueIds };
    return stands;
  }

  async setState(state: WorkerState): Promise<void> {
    const current = this.#current;
    if (current === null) return;
    await this.#parts.pool.use((c) => workers.setState(c, current.workerId, state));
    testSignal('worker.state', { workerId: current.workerId, state });
  }

  /** Forgets the row; it has ended. */
  forget(): void {
    this.#current = null;
  }

  async #join(active: ActivePolicy): Promise<Omit<Registered, 'workerId'>> {
    const { dimensions, logger, queues: wanted } = this.#parts;
    const { joined, missing } = queuesToJoin(active.policy, this.#capabilities, wanted);
    for (const { queue, lacks } of missing) logger.info({ queue, lacks }, 'queue not joined: not offered');
    if (joined.length === 0) logger.warn('this worker can serve no queue of the configuration');
    const keys = joined.map((key) => ({ tenantId: 0, kind: 'queue' as const, key }));
    await dimensions.ensure(keys);
    return { queues: joined, queueIds: keys.map((key) => dimensions.id(key)) };
  }
}

/** The lease timing that a registration was made for and another are the same. */
export const sameTiming = (a: LeaseTiming, b: LeaseTiming): boolean =>
  a.ttlMs === b.ttlMs &&
  a.heartbeatMs === b.heartbeatMs &&
  a.renewDeadlineMs === b.renewDeadlineMs &&
  a.stopMarginMs === b.stopMarginMs;
