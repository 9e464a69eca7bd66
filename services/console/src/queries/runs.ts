/** Runs: pages, and the rows that other answers hold. */
import {
  formatId,
  hashWorkKey,
  type PublicStatus,
  parseId,
  publicStatus,
  type ReasonCode,
  type ReceiptId,
  RUN_STATUSES,
  type RunId,
  type RunStatus,
  type TaskId,
} from '@headgate/domain';
import type { Page, Run, RunLimitsAnswer } from '@headgate/sdk';
import type { Connection } from '@headgate/store';
import { type SQL, sql } from 'drizzle-orm';
import type { z } from 'zod';
import { badRequest } from '../http/problems.js';
import type { runQuery } from '../schemas/index.js';
import { instantOf, instantOrNull } from './instants.js';
import { between, type PageQuestion, pageOf, writeCursor } from './page.js';
import { list, rows } from './read.js';
import type { WaitingReader } from './waiting.js';

export interface RunRow {
  readonly id: RunId;
  readonly taskId: TaskId;
  readonly receiptId: ReceiptId;
  readonly tenant: string;
  readonly route: string;
  readonly repository: string | null;
  readonly agent: string;
  readonly mode: Run['mode'];
  readonly kind: Run['kind'];
  readonly workKey: string;
  readonly inputVersion: string;
  readonly generation: number;
  readonly status: RunStatus;
  readonly reasonCode: ReasonCode | null;
  readonly reasonDetail: string | null;
  readonly statusAt: Date;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly attemptNo: number;
  readonly branch: string | null;
  readonly queue: string;
  readonly priority: number;
  readonly concurrencyKey: string | null;
  readonly policyVersion: number;
  readonly limits: RunLimitsAnswer;
  readonly costUsd: number;
  readonly reservedUsd: number | null;
  readonly exceededAt: Date | null;
}

/** How a run names its repository: as it is called now. */
export const REPOSITORY_OF_RUN = sql.raw("coalesce(p.full_name, r.spec->'repository'->>'fullName')");

export const runRows = (c: Connection, ids: readonly RunId[]): Promise<RunRow[]> =>
  ids.length === 0
    ? Promise.resolve([])
    : rows<RunRow>(
        c,
        sql`select r.id, r.task_id as "taskId", r.receipt_id as "receiptId", t.key as tenant, r.route,
                   ${REPOSITORY_OF_RUN} as repository, r.agent, r.mode,
                   case when jsonb_typeof(r.spec->'observe') = 'object' then 'observation' else 'work' end as kind, k.work_key as "workKey",
                   r.input_version as "inputVersion", r.generation, r.status, r.reason_code as "reasonCode",
                   r.reason_detail as "reasonDetail", r.status_at as "statusAt", r.created_at as "createdAt", r.started_at as "startedAt",
                   r.finished_at as "finishedAt", r.attempt_no as "attemptNo", r.branch, r.queue, r.priority,
                   r.concurrency_key as "concurrencyKey", r.policy_version as "policyVersion",
                   r.spec->'limits' as limits, r.cost_usd as "costUsd",
                   coalesce(l.reserved_usd, q.reserved_usd) as "reservedUsd",
                   (select min(a.finished_at) from headgate.attempt a
                     where a.run_id = r.id and a.reason_code = 'COST_LIMIT') as "exceededAt"
              from headgate.run r
              join headgate.task k on k.id = r.task_id
              join headgate.tenant t on t.id = r.tenant_id
              left join headgate.repository p on p.id = r.repository_id
              left join headgate.lease l on l.run_id = r.id
              left join headgate.queue_item q on q.run_id = r.id
             where r.id = any (${list(ids, 'uuid')})
             order by r.id desc`,
      );

/** The newest attempt's evidence and the run's own row make the answer; what it waits for is read beside it. */
export async function runAnswers(
  c: Connection,
  waiting: WaitingReader,
  ids: readonly RunId[],
): Promise<Run[]> {
  const found = await runRows(c, ids);
  const reasons = await waiting(c, found);
  return found.map((row) => ({
    id: formatId('run', row.id),
    taskId: formatId('task', row.taskId),
    receiptId: formatId('rcpt', row.receiptId),
    tenant: row.tenant,
    route: row.route,
    repository: row.repository,
    agent: row.agent,
    mode: row.mode,
    kind: row.kind,
    workKey: row.workKey,
    inputVersion: row.inputVersion,
    generation: row.generation,
    status: row.status,
    publicStatus: publicStatus(row.status),
    reasonCode: row.reasonCode,
    statusAt: instantOf(row.statusAt),
    createdAt: instantOf(row.createdAt),
    startedAt: instantOrNull(row.startedAt),
    finishedAt: instantOrNull(row.finishedAt),
    attempt: row.attemptNo,
    branch: row.branch,
    queue: row.queue,
    priority: row.priority,
    concurrencyKey: row.concurrencyKey,
    policyVersion: row.policyVersion,
    limits: row.limits,
    cost: {
      estimatedUsd: row.reservedUsd,
      actualUsd: row.costUsd,
      maxUsd: row.limits.costUsd,
      exceededAt: instantOrNull(row.exceededAt),
    },
    waiting: reasons.get(row.id) ?? null,
  }));
}

export async function runPageOf(
  c: Connection,
  waiting: WaitingReader,
  query: z.infer<typeof runQuery>,
): Promise<Page<Run>> {
  const time = between(query.since, query.until);
  const within: SQL[] = [...time.within];
  if (query.taskId !== undefined) {
    const taskId = parseId('task', query.taskId);
    if (taskId === null) return { items: [], nextCursor: null };
    within.push(sql`x.task_id = ${taskId}::uuid`);
  }
  if (query.workKey !== undefined) {
    within.push(
      sql`x.task_id in (select k.id from headgate.task k
                         where k.key_hash = ${hashWorkKey(query.workKey)} and k.work_key = ${query.workKey})`,
    );
  }
  if (query.ids !== undefined) within.push(sql`x.id = any (${list(runIdsOf(query.ids), 'uuid')})`);
  if (query.tenant !== undefined) {
    within.push(sql`x.tenant_id in (select t.id from headgate.tenant t where t.key = ${query.tenant})`);
  }
  const filters: SQL[] = [...time.filters];
  if (query.status !== undefined) filters.push(sql`x.status = ${query.status}::headgate.run_status`);
  if (query.publicStatus !== undefined) {
    filters.push(sql`x.status::text = any (${list(statusesOf(query.publicStatus), 'text')})`);
  }
  if (query.route !== undefined) filters.push(sql`x.route = ${query.route}`);
  if (query.repository !== undefined) {
    filters.push(
      sql`x.repository_id in (select p.id from headgate.repository p where p.full_name = ${query.repository})`,
    );
  }
  const question = {
    from: sql`headgate.run x`,
    within,
    filters,
    columns: ['status', 'created_at', 'route', 'repository_id'],
    limit: query.limit,
    cursor: query.cursor,
  };
  if (query.waitingReason !== undefined) return waitingPage(c, waiting, question, query.waitingReason);
  const { ids, nextCursor } = await pageOf<RunId>(c, question);
  return { items: await runAnswers(c, waiting, ids), nextCursor };
}

const MAX_IDS = 200;

/** What cannot be an id names nothing. */
function runIdsOf(text: string): readonly RunId[] {
  const ids = text.split(',');
  if (ids.length > MAX_IDS) throw badRequest(`query.ids: at most ${MAX_IDS} ids, ${ids.length} were given.`);
  return ids.flatMap((id) => parseId('run', id) ?? []);
}

/** Waiting runs looked at for one page at most: why one waits is counted from the rows of now, not stored. */
const MAX_REASONED = 600;
const REASONED_AT_ONCE = 200;
/** Reasons of runs that rest before the queue. */
const WITHOUT_ITEM: readonly ReasonCode[] = ['APPROVAL_REQUIRED', 'ADMITTED'];

async function waitingPage(
  c: Connection,
  waiting: WaitingReader,
  question: PageQuestion,
  reasonCode: ReasonCode,
): Promise<Page<Run>> {
  const inQueue = sql`exists (select 1 from headgate.queue_item q where q.run_id = x.id)`;
  const asked: PageQuestion = {
    ...question,
    within: WITHOUT_ITEM.includes(reasonCode) ? question.within : [...question.within, inQueue],
    filters: [...question.filters, sql`x.status::text = any (${list(statusesOf('waiting'), 'text')})`],
    limit: REASONED_AT_ONCE,
  };
  const items: Run[] = [];
  let { cursor } = question;
  for (let lookedAt = 0; lookedAt < MAX_REASONED; lookedAt += REASONED_AT_ONCE) {
    const { ids, nextCursor } = await pageOf<RunId>(c, { ...asked, cursor });
    const runs = await runAnswers(c, waiting, ids);
    for (const [at, run] of runs.entries()) {
      if (run.waiting?.reasonCode !== reasonCode) continue;
      items.push(run);
      if (items.length === question.limit) return { items, nextCursor: writeCursor(ids[at]) };
    }
    if (nextCursor === null) return { items, nextCursor: null };
    cursor = nextCursor;
  }
  return { items, nextCursor: cursor ?? null };
}

const statusesOf = (wanted: PublicStatus): readonly RunStatus[] =>
  RUN_STATUSES.filter((status) => publicStatus(status) === wanted);
