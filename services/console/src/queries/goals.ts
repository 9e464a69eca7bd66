/** Goals as the API shows them: their bounds, how far they are, and what they saw. */
import {
  formatId,
  formatIdOrNull,
  type GoalId,
  type GoalSpec,
  type ObservationId,
  type ReasonCode,
  type ReceiptId,
  type RunId,
} from '@headgate/domain';
import type { Goal, GoalDetail, Observation, Page } from '@headgate/sdk';
import type { Connection } from '@headgate/store';
import { sql } from 'drizzle-orm';
import type { z } from 'zod';
import type { plainPageQuery } from '../schemas/index.js';
import { instantOf, instantOrNull } from './instants.js';
import { pageOf } from './page.js';
import { list, rows } from './read.js';

interface GoalRow {
  readonly id: GoalId;
  readonly tenant: string;
  readonly route: string;
  readonly ordinal: number;
  readonly repository: string;
  readonly spec: GoalSpec;
  readonly state: Goal['state'];
  readonly stateAt: Date;
  readonly stateBy: string | null;
  readonly reasonCode: ReasonCode | null;
  readonly note: string | null;
  readonly receiptId: ReceiptId | null;
  readonly phase: Goal['phase'];
  readonly runId: RunId | null;
  readonly epoch: number;
  readonly startedAt: Date;
  readonly nextAt: Date | null;
  readonly observations: number;
  readonly runs: number;
  readonly costUsd: number;
  readonly noProgress: number;
  readonly unknowns: number;
}

interface ObservationRow {
  readonly id: ObservationId;
  readonly epoch: number;
  readonly number: number;
  readonly outcome: Observation['outcome'];
  readonly ref: string | null;
  readonly version: string | null;
  readonly result: unknown;
  readonly detail: string | null;
  readonly observedAt: Date;
  readonly runId: RunId;
  readonly receiptId: ReceiptId | null;
}

const SHOWN_OBSERVATIONS = 20;

export async function goalPageOf(c: Connection, query: z.infer<typeof plainPageQuery>): Promise<Page<Goal>> {
  const { ids, nextCursor } = await pageOf<GoalId>(c, {
    from: sql`headgate.goal x`,
    within: [sql`x.state <> 'removed'`],
    filters: [],
    columns: [],
    limit: query.limit,
    cursor: query.cursor,
  });
  return { nextCursor, items: await goalsOf(c, ids) };
}

/** Null: it is not there, or no longer in the configuration. */
export async function goalDetail(c: Connection, id: GoalId): Promise<GoalDetail | null> {
  const [goal] = await goalsOf(c, [id]);
  return goal === undefined ? null : { ...goal, recent: await observationsOf(c, id) };
}

async function goalsOf(c: Connection, ids: readonly GoalId[]): Promise<Goal[]> {
  if (ids.length === 0) return [];
  const found = await rows<GoalRow>(
    c,
    sql`select g.id, t.key as tenant, g.route, g.ordinal, g.repository, g.spec, g.state, g.state_at as "stateAt",
               g.state_by as "stateBy", g.reason_code as "reasonCode", g.note, g.receipt_id as "receiptId",
               g.phase, g.run_id as "runId", g.epoch, g.started_at as "startedAt", g.next_at as "nextAt",
               g.observations, g.runs, g.cost_usd::float8 as "costUsd", g.no_progress as "noProgress", g.unknowns
          from headgate.goal g join headgate.tenant t on t.id = g.tenant_id
         where g.id = any (${list(ids, 'uuid')}) and g.state <> 'removed' order by g.id desc`,
  );
  return found.map(({ spec, ...row }) => ({
    ...row,
    id: formatId('goal', row.id),
    until: spec.until.source,
    observe: spec.observe.kind,
    cadence: spec.cadence,
    timezone: spec.timezone,
    stop: { ...spec.stop },
    stateAt: instantOf(row.stateAt),
    receiptId: formatIdOrNull('rcpt', row.receiptId),
    runId: formatIdOrNull('run', row.runId),
    startedAt: instantOf(row.startedAt),
    deadlineAt: instantOf(new Date(row.startedAt.getTime() + spec.stop.deadlineMs)),
    nextAt: row.state === 'active' ? instantOrNull(row.nextAt) : null,
  }));
}

const observationsOf = async (c: Connection, id: GoalId): Promise<Observation[]> =>
  (
    await rows<ObservationRow>(
      c,
      sql`select o.id, o.epoch, o.number, o.outcome, o.ref, o.version, o.result, o.detail,
                 o.observed_at as "observedAt", o.run_id as "runId", o.receipt_id as "receiptId"
            from headgate.observation o where o.goal_id = ${id}::uuid
           order by o.epoch desc, o.number desc limit ${SHOWN_OBSERVATIONS}`,
    )
  ).map((row) => ({
    ...row,
    id: formatId('obs', row.id),
    observedAt: instantOf(row.observedAt),
    runId: formatId('run', row.runId),
    receiptId: formatIdOrNull('rcpt', row.receiptId),
  }));
