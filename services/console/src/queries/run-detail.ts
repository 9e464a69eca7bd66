/** One run with everything about it. */
import {
  type EventId,
  formatId,
  type ReasonCode,
  type ReceiptId,
  type RunId,
  type RunStatus,
  sentence,
} from '@headgate/domain';
import type { RunDetail, RunEvent, RunLease, RunOperation, RunUsage } from '@headgate/sdk';
import { approvals, type Connection } from '@headgate/store';
import { sql } from 'drizzle-orm';
import type { Caller } from '../auth/index.js';
import { actionsOf, approvalAnswer } from './approvals.js';
import { attemptsOf } from './attempts.js';
import { feedbackOf } from './feedback.js';
import { instantOf, instantOrNull } from './instants.js';
import { rows } from './read.js';
import { runAnswers } from './runs.js';
import type { WaitingReader } from './waiting.js';

/** Null: no such run, or not the caller's. */
export async function runDetail(
  c: Connection,
  waiting: WaitingReader,
  caller: Caller,
  runId: RunId,
): Promise<RunDetail | null> {
  const [run] = await runAnswers(c, waiting, [runId]);
  if (run === undefined) return null;
  const request = await approvals.of(c, runId);
  return {
    ...run,
    actions: [...actionsOf(run.status, request, caller)],
    approval: request === null ? null : approvalAnswer(request),
    lease: await leaseOf(c, runId),
    attempts: await attemptsOf(c, runId),
    operations: await operationsOf(c, runId),
    usage: await usageOf(c, runId),
    events: await eventsOf(c, runId),
    ...(await originOf(c, runId)),
    feedback: await feedbackOf(c, sql`select r.receipt_id from headgate.run r where r.id = ${runId}::uuid`),
  };
}

/** Where it came from, what its agent is told, and what is said of how it stands. */
async function originOf(
  c: Connection,
  runId: RunId,
): Promise<Pick<RunDetail, 'lineage' | 'promptDigest' | 'reasonMessage'>> {
  const [row] = await rows<{
    hops: number;
    chainRuns: number;
    rootReceiptId: ReceiptId;
    promptDigest: string | null;
    reasonCode: ReasonCode | null;
    detail: string | null;
  }>(
    c,
    sql`select hops, chain_runs as "chainRuns", coalesce(root_receipt_id, receipt_id) as "rootReceiptId",
               spec->>'promptDigest' as "promptDigest", reason_code as "reasonCode", reason_detail as detail
          from headgate.run where id = ${runId}::uuid`,
  );
  if (row === undefined) throw new Error('a run without its row');
  const { promptDigest, hops, chainRuns, rootReceiptId, reasonCode, detail } = row;
  return {
    lineage: { hops, chainRuns, rootReceiptId: formatId('rcpt', rootReceiptId) },
    promptDigest,
    reasonMessage: reasonCode === null ? null : sentence(reasonCode, { detail }),
  };
}

async function leaseOf(c: Connection, runId: RunId): Promise<RunLease | null> {
  const [row] = await rows<{ acquiredAt: Date; expiresAt: Date; renewUntil: Date }>(
    c,
    sql`select acquired_at as "acquiredAt", expires_at as "expiresAt", renew_until as "renewUntil"
          from headgate.lease where run_id = ${runId}::uuid`,
  );
  if (row === undefined) return null;
  return {
    acquiredAt: instantOf(row.acquiredAt),
    expiresAt: instantOf(row.expiresAt),
    renewUntil: instantOf(row.renewUntil),
  };
}

async function operationsOf(c: Connection, runId: RunId): Promise<RunOperation[]> {
  const found = await rows<
    Omit<RunOperation, 'intendedAt' | 'attemptedAt' | 'settledAt'> & {
      intendedAt: Date;
      attemptedAt: Date | null;
      settledAt: Date | null;
    }
  >(
    c,
    sql`select key, kind, state as status, external_id as "externalId", url, tries, detail,
               intended_at as "intendedAt", attempted_at as "attemptedAt", settled_at as "settledAt"
          from headgate.operation where run_id = ${runId}::uuid order by intended_at, id`,
  );
  return found.map((row) => ({
    ...row,
    intendedAt: instantOf(row.intendedAt),
    attemptedAt: instantOrNull(row.attemptedAt),
    settledAt: instantOrNull(row.settledAt),
  }));
}

async function usageOf(c: Connection, runId: RunId): Promise<RunUsage | null> {
  const [sum] = await rows<Omit<RunUsage, 'byModel'> & { reported: number }>(
    c,
    sql`select count(*)::int as reported, coalesce(array_agg(distinct model) filter (where model is not null), '{}') as models,
               coalesce(sum(input_tokens), 0)::float8 as "inputTokens",
               coalesce(sum(output_tokens), 0)::float8 as "outputTokens",
               coalesce(sum(tool_ms), 0)::float8 as "toolMs", coalesce(sum(cpu_ms), 0)::float8 as "cpuMs",
               coalesce(sum(artifact_bytes), 0)::float8 as "artifactBytes",
               coalesce(sum(provider_calls), 0)::float8 as "providerCalls",
               coalesce(sum(cost_usd), 0) as "costUsd"
          from headgate.usage where run_id = ${runId}::uuid`,
  );
  if (sum === undefined || sum.reported === 0) return null;
  const { reported: _reported, ...usage } = sum;
  const byModel = await rows<RunUsage['byModel'][number]>(
    c,
    sql`select model, sum(input_tokens)::float8 as "inputTokens", sum(output_tokens)::float8 as "outputTokens",
               sum(cost_usd) as "costUsd"
          from headgate.usage where run_id = ${runId}::uuid group by model order by 4 desc, 1`,
  );
  return { ...usage, byModel };
}

/** Events of one run shown at most; a run that has more keeps its newest. */
const MAX_EVENTS = 500;

async function eventsOf(c: Connection, runId: RunId): Promise<RunEvent[]> {
  const found = await rows<{
    id: EventId;
    at: Date;
    type: string;
    from: RunStatus | null;
    to: RunStatus | null;
    reasonCode: ReasonCode | null;
    actor: string | null;
    attempt: number | null;
    fencingToken: string | null;
  }>(
    c,
    sql`select id, at, type, from_status as "from", to_status as "to", reason_code as "reasonCode", actor,
               attempt_no as attempt, fencing_token as "fencingToken"
          from headgate.run_event where run_id = ${runId}::uuid order by id desc limit ${MAX_EVENTS}`,
  );
  return found.reverse().map((row) => ({ ...row, id: formatId('evt', row.id), at: instantOf(row.at) }));
}
