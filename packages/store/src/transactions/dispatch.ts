/**
 * Dispatch: count, choose, mark. One transaction under one lock, decided from rows (SQL rule 4).
 *
 * Any number of dispatchers may run; the advisory lock makes them one at a time, and intake only tries it. Lock
 * order: dispatch lock (own statement), then items (SKIP LOCKED in run id order).
 *  - leases and dispatched items are counted in ONE statement after the lock: a claim that commits between two counts
 *    would be seen by neither. A claim moves an item to a lease, so the sum never changes under it.
 *  - marking against cancel and supersede: they delete the item; the mark passes it over.
 * Three round trips: lock and count (in vain where the lock is only tried and another has it), read, mark and commit.
 * Crash before COMMIT: nothing. After COMMIT, before the hints: the items are dispatched and hinted again after 5 s.
 */
import type { RunId, RunStatus, WorkerId } from '@headgate/domain';
import { databaseNow } from '../clock.js';
import type { Connection } from '../connection/connection.js';
import type { Pool } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { locks } from '../locks.js';
import { type DispatchedItem, dispatchedItems } from '../tables/dispatched-items.js';
import { type DispatchedRun, dispatchedRuns } from '../tables/dispatched-runs.js';
import { dueItems } from '../tables/due-items.js';
import { policies } from '../tables/policies.js';
import { queueItems } from '../tables/queue-items.js';
import { type ReadyCursor, type ReadyHead, type ReadyPair, readyItems } from '../tables/ready-items.js';
import { runs } from '../tables/runs.js';
import { type LiveWorker, workers } from '../tables/workers.js';
import { closeRuns, walk } from './end-runs.js';

/** How much of each combination of dimensions is held: leases and dispatched items together. */
export interface HeldRow {
  /** Whose leases they are; null: dispatched, and nobody's yet. */
  readonly workerId: WorkerId | null;
  readonly tenantId: number;
  readonly organisationId: number | null;
  readonly repositoryId: number | null;
  readonly userId: number | null;
  readonly risk: number;
  readonly queueId: number;
  readonly agentId: number;
  readonly providerId: number | null;
  readonly concurrencyKey: Buffer | null;
  readonly concurrencyLimit: number | null;
  readonly exclusiveTaskId: string | null;
  readonly held: number;
  readonly dispatched: number;
  readonly reservedUsd: number;
}

// Leases are read by their key: between two vacuums most of the table is rows that are gone, which an index soon passes over.
const held = statement(
  'dispatch.held',
  `select worker_id as "workerId", tenant_id as "tenantId", organisation_id as "organisationId", repository_id as "repositoryId",
          user_id as "userId", risk, queue_id as "queueId", agent_id as "agentId", provider_id as "providerId",
          concurrency_key as "concurrencyKey", concurrency_limit as "concurrencyLimit", exclusive_task_id as "exclusiveTaskId",
          count(*)::int as held, sum(dispatched)::int as dispatched, sum(reserved_usd) as "reservedUsd"
     from (
       select worker_id, tenant_id, organisation_id, repository_id, user_id, risk, queue_id, agent_id, provider_id,
              concurrency_key, concurrency_limit, exclusive_task_id, 0 as dispatched, reserved_usd
         from headgate.lease where run_id > '00000000-0000-0000-0000-000000000000'
       union all
       select null, tenant_id, organisation_id, repository_id, user_id, risk, queue_id, agent_id, provider_id, concurrency_key,
              concurrency_limit, case when exclusive_task then task_id end, 1, reserved_usd
         from headgate.queue_item where state = 'dispatched') h
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12`,
);

/** What is held and who is there. */
export interface Counted {
  readonly policyVersion: number | null;
  readonly held: readonly HeldRow[];
  readonly workers: readonly LiveWorker[];
}

export interface DispatchSnapshot extends Counted {
  readonly reading: Reading;
  readonly heads: readonly ReadyHead[];
  /** Database time. */
  readonly now: Date;
}

export type AskedPair = ReadyPair & { readonly after: ReadyCursor | null };

/** Which pairs are read, and how many heads of each. */
export interface Reading {
  readonly pairs: readonly AskedPair[];
  readonly headsPerPair: number;
}

export interface DispatchTurn {
  /** Pairs believed to have something ready, each with its cursor; or all that have, if they are at most so many. */
  readonly pairs: readonly AskedPair[] | { readonly atMost: number };
  /** Heads read of each pair; or what is worth reading now: where that is no pair, the turn ends there. */
  readonly read: number | ((asked: readonly AskedPair[], counted: Counted) => Reading);
  /** false: give up at once if another dispatcher holds the lock (intake, after its commit). */
  readonly wait: boolean;
  readonly choose: (snapshot: DispatchSnapshot) => readonly RunId[];
  /** Whoever dispatches for itself reads what it got in the same transaction. Default false. */
  readonly readsRuns?: boolean;
}

export type DispatchOutcome =
  | { readonly kind: 'locked' }
  /** More pairs have something ready than the turn would ask. */
  | { readonly kind: 'too-many' }
  | {
      readonly kind: 'dispatched';
      readonly items: readonly DispatchedItem[];
      /** What a verdict on each of them needs; empty unless the turn reads them. */
      readonly runs: readonly DispatchedRun[];
    };

const NOTHING: DispatchOutcome = { kind: 'dispatched', items: [], runs: [] };

export function dispatch(pool: Pool, turn: DispatchTurn): Promise<DispatchOutcome> {
  return pool.transaction(async (c) => {
    // In this order on the wire: what is counted is counted once the lock is held.
    const [isHeld, policyVersion, heldRows, live, now, asked] = await Promise.all([
      turn.wait ? locks.dispatch(c).then(() => true) : locks.tryDispatch(c),
      policies.headVersion(c),
      c.run<HeldRow>(held),
      workers.live(c),
      databaseNow(c),
      askedPairs(c, turn.pairs),
    ]);
    if (!isHeld) return { kind: 'locked' };
    if (asked === 'too-many') return { kind: 'too-many' };
    const counted = { policyVersion, held: heldRows, workers: live };
    const reading =
      typeof turn.read === 'number' ? { pairs: asked, headsPerPair: turn.read } : turn.read(asked, counted);
    const { pairs, headsPerPair } = reading;
    if (asked.length > 0 && pairs.length === 0) return NOTHING;
    const heads = await readyItems.heads(c, pairs, headsPerPair, fullKeys(heldRows));
    const chosen = turn.choose({ ...counted, reading, heads, now });
    if (chosen.length === 0) return NOTHING;
    const [items, read] = await c.last(() =>
      Promise.all([
        dispatchedItems.mark(c, chosen),
        turn.readsRuns === true ? dispatchedRuns.marked(c, chosen) : [],
      ]),
    );
    const marked = new Set(items.map((item) => item.runId));
    return { kind: 'dispatched', items, runs: read.filter((run) => marked.has(run.runId)) };
  });
}

async function askedPairs(
  c: Connection,
  pairs: DispatchTurn['pairs'],
): Promise<readonly AskedPair[] | 'too-many'> {
  if (!('atMost' in pairs)) return pairs;
  const all = await readyItems.pairs(c, pairs.atMost + 1);
  return all.length > pairs.atMost ? 'too-many' : all.map((pair) => ({ ...pair, after: null }));
}

/** What is held now, for *why*: the same rows that a turn counts, read without its lock. */
export const heldNow = (c: Connection): Promise<HeldRow[]> => c.run<HeldRow>(held);

/** Keys that take no further run: their items are passed over on the index tuple. The tenant is part of the hash. */
function fullKeys(rows: readonly HeldRow[]): readonly Buffer[] {
  const used = new Map<string, { key: Buffer; limit: number; held: number }>();
  for (const row of rows) {
    if (row.concurrencyKey === null || row.concurrencyLimit === null) continue;
    const name = row.concurrencyKey.toString('hex');
    const known = used.get(name);
    used.set(name, {
      key: row.concurrencyKey,
      limit: Math.min(known?.limit ?? row.concurrencyLimit, row.concurrencyLimit),
      held: (known?.held ?? 0) + row.held,
    });
  }
  return [...used.values()].filter((use) => use.held >= use.limit).map((use) => use.key);
}

export interface Upkeep {
  readonly hintAgainAfterMs: number;
  readonly takeBackAfterMs: number;
  readonly limit: number;
  readonly actor: string;
}

/** Items whose hint was not answered: hinted again, or taken back with their reservation (DISPATCH_EXPIRED). */
export const takeBackUnclaimed = (pool: Pool, upkeep: Upkeep): Promise<{ runId: RunId }[]> =>
  pool.transaction((c) => dispatchedItems.takeBack(c, upkeep.takeBackAfterMs, upkeep.limit, upkeep.actor));

export const unansweredHints = (pool: Pool, upkeep: Upkeep): Promise<DispatchedItem[]> =>
  pool.transaction((c) => dispatchedItems.dueHints(c, upkeep.hintAgainAfterMs, upkeep.limit));

/** Delayed items whose time has come: ready, and a run that waited for capacity is QUEUED, in one transaction. */
export const promoteDue = (
  pool: Pool,
  limit: number,
  actor: string,
): Promise<readonly (ReadyPair & { runId: RunId })[]> =>
  pool.transaction(async (c) => {
    const promoted = await dueItems.promote(c, limit);
    await runs.move(
      c,
      promoted.map((item) => ({
        runId: item.runId,
        from: 'WAITING_CAPACITY',
        to: 'QUEUED',
        reasonCode: null,
        actor,
      })),
    );
    return promoted;
  });

/** Runs that nobody claimed within their time to live. */
export const expireOverdue = (pool: Pool, limit: number, actor: string): Promise<readonly RunId[]> =>
  pool.transaction(async (c) => {
    const overdue = (await dueItems.lockExpired(c, limit)).map((item) => item.runId);
    if (overdue.length === 0) return [];
    const locked = await runs.lock(c, overdue);
    const waiting = locked.filter(
      (run): run is typeof run & { status: RunStatus } =>
        run.status === 'QUEUED' || run.status === 'WAITING_CAPACITY',
    );
    await queueItems.remove(c, overdue);
    const ended = await walk(
      c,
      waiting.map((run) => ({
        runId: run.runId,
        from: run.status,
        actor,
        steps: [{ to: 'EXPIRED', reasonCode: 'TIME_TO_LIVE_EXPIRED' }],
      })),
    );
    await closeRuns(c, [...ended]);
    return [...ended];
  });

/** Whether this connection sees anything ready, per (queue, tenant): the slow full scan. */
export const readyPairs = (c: Connection): Promise<ReadyPair[]> => readyItems.pairs(c);
