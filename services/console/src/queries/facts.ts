/** The rows behind a *why*: which things a reading finds, and everything about those. Each read is bounded. */
import {
  type AttemptFact,
  type EventFact,
  type Facts,
  type FeedbackFact,
  hashWorkKey,
  type LookFact,
  type OperationFact,
  type Reading,
  type ReceiptFact,
  type ReceiptId,
  type RunFact,
  type RunId,
  type SourceSight,
  type TaskId,
} from '@headgate/domain';
import type { Connection } from '@headgate/store';
import { type SQL, sql } from 'drizzle-orm';
import { list, rows } from './read.js';
import { REPOSITORY_OF_RUN } from './runs.js';

/** What a reading names. */
export interface Found {
  readonly receiptIds: readonly ReceiptId[];
  readonly runIds: readonly RunId[];
  readonly taskIds: readonly TaskId[];
}

/** How many of the newest receipts and operations are looked through for what no index holds. */
const LOOKED_THROUGH = 20_000;
const MAX_FOUND = 20;
const MAX_ROWS = 300;

const NOTHING: Found = { receiptIds: [], runIds: [], taskIds: [] };

/** Null: this reading finds nothing. */
export async function find(
  c: Connection,
  reading: Exclude<Reading, { kind: 'schedule' | 'goal' }>,
): Promise<Found | null> {
  const found = await lookUp(c, reading);
  const isEmpty = found.receiptIds.length + found.runIds.length + found.taskIds.length === 0;
  return isEmpty ? null : found;
}

async function lookUp(c: Connection, reading: Parameters<typeof find>[1]): Promise<Found> {
  switch (reading.kind) {
    case 'receipt':
      return { ...NOTHING, receiptIds: await receiptIds(c, sql`id = ${reading.receiptId}::uuid`) };
    case 'run':
      return {
        ...NOTHING,
        runIds: await ids<RunId>(c, sql`select id from headgate.run where id = ${reading.runId}::uuid`),
      };
    case 'task':
      return {
        ...NOTHING,
        taskIds: await ids<TaskId>(c, sql`select id from headgate.task where id = ${reading.taskId}::uuid`),
      };
    case 'workKey':
      return {
        ...NOTHING,
        taskIds: await ids<TaskId>(
          c,
          sql`select id from headgate.task
               where key_hash = ${hashWorkKey(reading.workKey)} and work_key = ${reading.workKey} limit ${MAX_FOUND}`,
        ),
      };
    case 'delivery':
      return { ...NOTHING, receiptIds: await byDelivery(c, reading.eventId) };
    case 'target':
      return byNewestReceipts(
        c,
        reading.repository === null
          ? sql`target_id = ${reading.targetId}`
          : sql`target_id = ${reading.targetId} and lower(repository) = lower(${reading.repository})`,
      );
    case 'repository':
      return byNewestReceipts(c, sql`lower(repository) = lower(${reading.repository})`);
    case 'sha':
      return bySha(c, reading.prefix, reading.repository);
  }
}

const ids = async <Id extends string>(c: Connection, query: SQL): Promise<Id[]> =>
  (await rows<{ id: Id }>(c, query)).map((row) => row.id);

const receiptIds = (c: Connection, condition: SQL): Promise<ReceiptId[]> =>
  ids<ReceiptId>(
    c,
    sql`select id from headgate.receipt where ${condition} order by id desc limit ${MAX_ROWS}`,
  );

/** As given, or with the id of a hook that we know before it. Index: receipt_event. */
const byDelivery = (c: Connection, eventId: string): Promise<ReceiptId[]> =>
  receiptIds(
    c,
    sql`event_id in (
          select ${eventId}::text
          union all
          select distinct hook_id || '/' || ${eventId}
            from (select hook_id from headgate.receipt order by id desc limit ${LOOKED_THROUGH}) newest
           where hook_id is not null)`,
  );

/** No index holds targets and names: the newest receipts are looked through. */
async function byNewestReceipts(c: Connection, condition: SQL): Promise<Found> {
  const found = await rows<{ id: ReceiptId; taskId: TaskId | null }>(
    c,
    sql`select id, task_id as "taskId"
          from (select id, kind, task_id, repository, target_id, input_version from headgate.receipt
                 order by id desc limit ${LOOKED_THROUGH}) newest
         where kind = 'decision' and ${condition} order by id desc limit ${MAX_ROWS}`,
  );
  return split(found);
}

/** Receipts of a task are found with it. */
function split(found: readonly { id: ReceiptId; taskId: TaskId | null }[]): Found {
  const taskIds = [...new Set(found.flatMap((row) => row.taskId ?? []))].slice(0, MAX_FOUND);
  return {
    ...NOTHING,
    taskIds,
    receiptIds: found.filter((row) => row.taskId === null).map((row) => row.id),
  };
}

/**
 * The version that work was asked for (index: run_version; every hex digit sorts before `g`), the version of a signal
 * that led to no run, or a commit that we pushed.
 */
async function bySha(c: Connection, prefix: string, repository: string | null): Promise<Found> {
  const ofRepository = (column: SQL): SQL =>
    repository === null ? sql`true` : sql`lower(${column}) = lower(${repository})`;
  const worked = await rows<{ taskId: TaskId }>(
    c,
    sql`select distinct r.task_id as "taskId"
          from headgate.run r left join headgate.repository p on p.id = r.repository_id
         where r.input_version >= ${prefix} and r.input_version < ${`${prefix}g`} and ${ofRepository(REPOSITORY_OF_RUN)}
         limit ${MAX_FOUND}`,
  );
  const pushed = await rows<{ taskId: TaskId }>(
    c,
    sql`select distinct o.task_id as "taskId"
          from (select task_id, external_id from headgate.operation order by id desc limit ${LOOKED_THROUGH}) o
         where o.external_id >= ${prefix} and o.external_id < ${`${prefix}g`} limit ${MAX_FOUND}`,
  );
  const refused = await byNewestReceipts(
    c,
    sql`input_version >= ${prefix} and input_version < ${`${prefix}g`} and ${ofRepository(sql`repository`)}`,
  );
  const taskIds = [...worked, ...pushed].map((row) => row.taskId);
  return { ...refused, taskIds: [...new Set([...taskIds, ...refused.taskIds])].slice(0, MAX_FOUND) };
}

export interface LoadedFacts {
  readonly facts: Facts;
  readonly isCut: boolean;
}

/** Everything about what was found: the chain before it and behind it. */
export async function loadFacts(c: Connection, found: Found): Promise<LoadedFacts> {
  const receipts = await receiptFacts(c, found);
  // A receipt's run belongs to its story; of a task all runs do.
  const runIds = new Set([...found.runIds, ...receipts.flatMap((receipt) => receipt.runId ?? [])]);
  const runs = await runFacts(c, [...runIds], found.taskIds);
  const all = runs.map((run) => run.id);
  const [events, operations, attempts, feedback, looks] = [
    await eventFacts(c, all, found.taskIds),
    await operationFacts(c, all),
    await attemptFacts(c, all),
    await feedbackFacts(
      c,
      receipts.map((receipt) => receipt.id),
    ),
    await lookFacts(c, [...new Set(receipts.flatMap((receipt) => receipt.repository ?? []))]),
  ];
  const isCut = [receipts, events].some((list) => list.length >= MAX_ROWS) || runs.length >= MAX_FOUND;
  return { facts: { receipts, runs, events, operations, attempts, feedback, looks }, isCut };
}

// A found receipt brings the one before it and those after it (promotions, repeats, replays; index: receipt_parent), the one that made its run, and the run's
// closing receipt.
const receiptFacts = (c: Connection, found: Found): Promise<ReceiptFact[]> =>
  rows<ReceiptFact>(
    c,
    sql`with named as (
          select id, parent_receipt_id, run_id from headgate.receipt where id = any (${list(found.receiptIds, 'uuid')})
        ), wanted as (
          select id from named
          union select parent_receipt_id from named where parent_receipt_id is not null
          union select r.receipt_id from named n join headgate.run r on r.id = n.run_id
          union select x.id from named n join headgate.receipt x on x.run_id = n.run_id where x.kind = 'closing'
          union select x.id from named n join headgate.receipt x on x.parent_receipt_id = n.id
          union select x.id from headgate.receipt x where x.run_id = any (${list(found.runIds, 'uuid')})
          union select x.id from headgate.receipt x where x.task_id = any (${list(found.taskIds, 'uuid')})
        )
        select x.id, x.kind, x.outcome, x.reason_code as "reasonCode", x.message, x.rule, x.route, x.existing,
               x.created_at as at, x.source, x.event_id as "eventId", x.type, x.actor, x.repository,
               x.work_key as "workKey", x.input_version as "inputVersion",
               x.parent_receipt_id as "parentReceiptId", x.replayed_by as "replayedBy", x.task_id as "taskId", x.run_id as "runId"
          from headgate.receipt x join wanted on wanted.id = x.id
         order by x.id desc limit ${MAX_ROWS}`,
  );

const runFacts = (c: Connection, runIds: readonly RunId[], taskIds: readonly TaskId[]): Promise<RunFact[]> =>
  rows<RunFact>(
    c,
    sql`select r.id, r.task_id as "taskId", r.receipt_id as "receiptId", r.route, ${REPOSITORY_OF_RUN} as repository,
               k.work_key as "workKey", r.input_version as "inputVersion", r.generation, r.status,
               r.reason_code as "reasonCode", r.reason_detail as "reasonDetail", r.status_at as "statusAt", r.branch,
               r.cost_usd as "costUsd", r.hops, r.chain_runs as "chainRuns", r.root_receipt_id as "rootReceiptId"
          from headgate.run r
          join headgate.task k on k.id = r.task_id
          left join headgate.repository p on p.id = r.repository_id
         where r.id = any (${list(runIds, 'uuid')}) or r.task_id = any (${list(taskIds, 'uuid')})
         order by r.id desc limit ${MAX_FOUND}`,
  );

const eventFacts = (
  c: Connection,
  runIds: readonly RunId[],
  taskIds: readonly TaskId[],
): Promise<EventFact[]> =>
  rows<EventFact>(
    c,
    sql`select e.id, e.at, e.type, e.from_status as "from", e.to_status as "to", e.reason_code as "reasonCode",
               e.actor, e.attempt_no as "attemptNo", e.fencing_token as "fencingToken", e.lease_id as "leaseId",
               e.run_id as "runId", e.task_id as "taskId", e.data
          from (select * from headgate.run_event where run_id = any (${list(runIds, 'uuid')})
                union all
                select * from headgate.run_event
                 where run_id is null and task_id = any (${list(taskIds, 'uuid')})) e
         order by e.id desc limit ${MAX_ROWS}`,
  );

const operationFacts = (c: Connection, runIds: readonly RunId[]): Promise<OperationFact[]> =>
  rows<OperationFact>(
    c,
    sql`select key, kind, state, external_id as "externalId", url, tries, run_id as "runId"
          from headgate.operation where run_id = any (${list(runIds, 'uuid')}) order by id limit ${MAX_ROWS}`,
  );

const attemptFacts = (c: Connection, runIds: readonly RunId[]): Promise<AttemptFact[]> =>
  rows<AttemptFact>(
    c,
    sql`select id, run_id as "runId", number, worker_id as "workerId", status, reason_code as "reasonCode", detail,
               finished_at as "finishedAt", cost_usd as "costUsd", lease_id as "leaseId"
          from headgate.attempt where run_id = any (${list(runIds, 'uuid')}) order by run_id, number limit ${MAX_ROWS}`,
  );

/** Index: feedback_pkey. */
const feedbackFacts = (c: Connection, receiptIds: readonly ReceiptId[]): Promise<FeedbackFact[]> =>
  rows<FeedbackFact>(
    c,
    sql`select receipt_id as "receiptId", repository, number, state, reason_code as "reasonCode", url, detail,
               created_at as at, settled_at as "settledAt"
          from headgate.feedback where receipt_id = any (${list(receiptIds, 'uuid')}) order by receipt_id`,
  );

/** Of the repositories that the story is about; a watermark names them as the configuration does. */
const lookFacts = (c: Connection, repositories: readonly string[]): Promise<LookFact[]> =>
  rows<LookFact>(
    c,
    sql`select source, repository, looked_at as "lookedAt", outcome, detail, quiet_looks as "quietLooks"
          from headgate.watermark
         where looked_at is not null
           and lower(repository) = any (${list(
             repositories.map((name) => name.toLowerCase()),
             'text',
           )})
         order by source, repository limit ${MAX_FOUND}`,
  );

/** The newest delivery of each source, among the newest receipts; configured sources that are silent too. */
export async function sourceSights(c: Connection, configured: readonly string[]): Promise<SourceSight[]> {
  const seen = await rows<SourceSight>(
    c,
    sql`select distinct on (source) source, created_at as "lastAt", type as "lastType", outcome as "lastOutcome",
               reason_code as "lastReasonCode"
          from (select id, kind, source, created_at, type, outcome, reason_code from headgate.receipt
                 order by id desc limit ${LOOKED_THROUGH}) newest
         where kind = 'decision' order by source, id desc limit ${MAX_FOUND}`,
  );
  const silent = configured
    .filter((source) => !seen.some((sight) => sight.source === source))
    .map((source) => ({ source, lastAt: null, lastType: null, lastOutcome: null, lastReasonCode: null }));
  const looks = await newestLooks(c);
  return [...seen, ...silent].map((sight) => ({
    ...sight,
    look: looks.find(({ source }) => source === sight.source) ?? null,
  }));
}

/** Of each source the repository that was looked at last. */
const newestLooks = (c: Connection): Promise<LookFact[]> =>
  rows<LookFact>(
    c,
    sql`select distinct on (source) source, repository, looked_at as "lookedAt", outcome, detail,
               quiet_looks as "quietLooks"
          from headgate.watermark where looked_at is not null order by source, looked_at desc limit ${MAX_FOUND}`,
  );
