/**
 * Why runs wait now, counted from the rows of this moment by the same functions that dispatch counts with.
 *
 * The runs and their items are read as the caller. What all tenants together hold is read as the service, and only
 * numbers of it are told: a tenant that waits for the instance's limit must learn that it does.
 */
import { candidateOf, capacityOf, DISPATCH_TIMING, heldOf, limitsOf } from '@headgate/dispatch';
import {
  approvalReason,
  type BlockInput,
  isReasonCode,
  isWaiting,
  type ReasonCode,
  type RunId,
  type RunStatus,
  type SelectionLimits,
  sentence,
  type Waiting as WaitingPlace,
  type WaitingReason,
  waitingReason,
} from '@headgate/domain';
import type { Waiting } from '@headgate/sdk';
import type { ServiceContext } from '@headgate/service';
import {
  approvals,
  type Connection,
  databaseNow,
  heldNow,
  type OpenApproval,
  type ReadyItem,
  workers,
} from '@headgate/store';
import { sql } from 'drizzle-orm';
import { instantOf } from './instants.js';
import { list, rows } from './read.js';

export interface WaitingRun {
  readonly id: RunId;
  readonly status: RunStatus;
  readonly statusAt: Date;
  readonly reasonCode: ReasonCode | null;
  readonly reasonDetail?: string | null;
}

/** For each of the runs that waits, why. */
export type WaitingReader = (
  c: Connection,
  runs: readonly WaitingRun[],
) => Promise<ReadonlyMap<RunId, Waiting>>;

export interface ItemRow extends ReadyItem {
  readonly state: 'delayed' | 'ready' | 'dispatched';
  readonly waits: 'capacity' | 'backoff' | null;
  readonly visibleAt: Date;
  readonly dispatchedAt: Date | null;
  readonly verdict: string | null;
  readonly detail: string | null;
  readonly ahead: number;
}

/** How far the line before a run is counted. */
const MAX_AHEAD = 1_000;

export function waitingReader(context: ServiceContext): WaitingReader {
  return async (c, runs) => {
    const waiting = runs.filter((run) => isWaiting(run.status));
    if (waiting.length === 0) return new Map();
    const items = new Map(
      (
        await itemsOf(
          c,
          waiting.map((run) => run.id),
        )
      ).map((item) => [item.runId, item]),
    );
    const nowMs = (await databaseNow(c)).getTime();
    const asked = await askedOf(c, waiting);
    const counted = await countAll(context);
    return new Map(
      waiting.map((run) => {
        const isAsked = run.status === 'WAITING_APPROVAL';
        return [
          run.id,
          isAsked
            ? forPerson(run, asked.get(run.id) ?? null, nowMs)
            : reasonOf(run, items.get(run.id), { ...counted, now: nowMs }),
        ];
      }),
    );
  };
}

/** `item` as it stands in the queue; undefined: the run rests before it. */
export function reasonOf(
  run: WaitingRun,
  item: ItemRow | undefined,
  input: BlockInput & { now: number },
): Waiting {
  if (item === undefined) return withoutItem(run);
  return shown(run, waitingReason(candidateOf(item), placeOf(run, item), input));
}

function placeOf(run: WaitingRun, item: ItemRow): WaitingPlace {
  switch (item.state) {
    case 'ready':
      return { kind: 'ready', ahead: item.ahead };
    case 'dispatched':
      return {
        kind: 'dispatched',
        takenBackAt: (item.dispatchedAt ?? run.statusAt).getTime() + DISPATCH_TIMING.takeBackAfterMs,
      };
    case 'delayed':
      return {
        kind: 'delayed',
        reasonCode: delayOf(run, item),
        visibleAt: item.visibleAt.getTime(),
        // Of the verdict that put it off; after an attempt it is the attempt's, which has its own place.
        detail: item.waits === 'capacity' ? item.detail : null,
      };
  }
}

/** Back-off after an attempt, or the verdict that put the run off. */
function delayOf(run: WaitingRun, item: ItemRow): ReasonCode {
  if (item.waits === 'backoff') {
    return run.reasonCode === 'PROVIDER_RATE_LIMIT' ? 'RATE_LIMITED' : 'RETRY_BACKOFF';
  }
  if (item.verdict !== null && isReasonCode(item.verdict)) return item.verdict;
  return run.reasonCode ?? 'RETRY_BACKOFF';
}

/** What people are asked about these runs. */
async function askedOf(
  c: Connection,
  runs: readonly WaitingRun[],
): Promise<ReadonlyMap<RunId, OpenApproval>> {
  const asked = runs.filter((run) => run.status === 'WAITING_APPROVAL').map((run) => run.id);
  return new Map((await approvals.open(c, asked)).map((one) => [one.runId, one]));
}

function forPerson(run: WaitingRun, asked: OpenApproval | null, nowMs: number): Waiting {
  const request =
    asked === null
      ? null
      : {
          subject: asked.subject,
          expiresAt: asked.expiresAt.getTime(),
          // A schedule or a forge's user says no words here: only a token can be the second that is the first.
          notBy: asked.fourEyes && asked.requester?.startsWith('token:') ? asked.requester : null,
        };
  const reason = approvalReason(request, run.reasonDetail ?? null, nowMs);
  return shown(run, reason);
}

const shown = (run: WaitingRun, reason: WaitingReason): Waiting => ({
  reasonCode: reason.reasonCode,
  message: reason.message,
  since: instantOf(run.statusAt),
  until: reason.untilMs === null ? null : instantOf(new Date(reason.untilMs)),
  numbers: { ...reason.numbers },
  wouldStartWhen: reason.wouldStartWhen,
});

/** The run rests before the queue. */
function withoutItem(run: WaitingRun): Waiting {
  const reasonCode = run.reasonCode ?? 'ADMITTED';
  return shown(run, {
    reasonCode,
    message: sentence(reasonCode),
    numbers: {},
    wouldStartWhen: 'The reconciler puts it into the queue, within a minute.',
    untilMs: null,
  });
}

/** What all tenants hold, and what could still be taken. */
export async function countAll(context: ServiceContext): Promise<BlockInput> {
  const active = context.policy.currentOrNull();
  const [held, live] = await context.database.service.use(async (c) => [
    await heldNow(c),
    await workers.live(c),
  ]);
  return {
    held: heldOf(held),
    limits: active === null ? NO_LIMITS : limitsOf(active.policy, active.tenantIds),
    capacity: capacityOf(live, held),
  };
}

const NO_LIMITS: SelectionLimits = {
  maxActive: null,
  perTenant: new Map(),
  perRepository: null,
  perUser: null,
  perRisk: new Map(),
  perProvider: new Map(),
};

/** Of `headgate.queue_item q`, all of an ItemRow but how many stand before it. */
export const ITEM_COLUMNS = sql.raw(`q.run_id as "runId", q.tenant_id as "tenantId", q.task_id as "taskId",
  q.exclusive_task as "exclusiveTask", q.rank_at as "rankAt", q.enqueued_at as "enqueuedAt",
  q.organisation_id as "organisationId", q.repository_id as "repositoryId", q.user_id as "userId",
  q.task_type_id as "taskTypeId", q.risk, q.queue_id as "queueId", q.agent_id as "agentId",
  q.provider_id as "providerId", q.sandbox_id as "sandboxId", q.concurrency_key as "concurrencyKey",
  q.concurrency_limit as "concurrencyLimit", q.tokens_per_minute as "tokensPerMinute",
  q.reserved_usd as "reservedUsd", q.state, q.waits, q.visible_at as "visibleAt",
  q.dispatched_at as "dispatchedAt", q.verdict`);

// The line is counted on the index of ready items, one bounded stretch per run.
const itemsOf = (c: Connection, ids: readonly RunId[]): Promise<ItemRow[]> =>
  rows<ItemRow>(
    c,
    sql`select ${ITEM_COLUMNS}, line.ahead,
               (select r.reason_detail from headgate.run r where r.id = q.run_id) as detail
          from headgate.queue_item q
          cross join lateral (
            select count(*)::int as ahead from (
              select 1 from headgate.queue_item i
               where q.state = 'ready' and i.state = 'ready' and i.queue_id = q.queue_id
                 and i.tenant_id = q.tenant_id and (i.rank_at, i.run_id) < (q.rank_at, q.run_id)
               limit ${MAX_AHEAD}) before) line
         where q.run_id = any (${list(ids, 'uuid')})`,
  );
