/**
 * operation: the ledger of external side effects, over Postgres (the domain's port `OperationLedger`).
 *
 * `intend` and `attempt` lock, in this order, the lease (by fence, and it must be current), the run (a committed
 * cancel refuses), then the operation. A cancel locks lease and run too, so it either commits first and refuses the
 * intent, or comes after it and finds the operation in the record (INV-ST2). Reports carry evidence and no fence.
 * A crash between `attempt` and the report leaves `attempted`: unknown until somebody reads the provider.
 */

import { createHash } from 'node:crypto';
import {
  type AbsentResult,
  type AttemptResult,
  type Ids,
  type IntendResult,
  isCancelling,
  isOperationSettled,
  isOperationUnknown,
  isTerminal,
  type Operation,
  type OperationData,
  type OperationFence,
  type OperationId,
  type OperationKind,
  type OperationLedger,
  type OperationState,
  type ReportResult,
  type RunId,
  type TaskId,
} from '@headgate/domain';
import { HISTORY_OPS } from '@headgate/telemetry';
import { databaseNow } from '../clock.js';
import type { Connection } from '../connection/connection.js';
import type { Pool } from '../connection/database.js';
import { json, plainText } from '../connection/rows.js';
import { statement } from '../connection/statement.js';
import { tell } from '../history.js';
import { leases } from './leases.js';
import { runs } from './runs.js';

const columns = `o.id, o.key, o.kind, o.state, o.run_id as "runId", o.intent, o.tries, o.evidence,
  o.external_id as "externalId", o.url, o.detail`;

const insert = statement(
  'operation.intend',
  `with made as (
     insert into headgate.operation (id, tenant_id, key_hash, key, kind, state, run_id, task_id, fencing_token, lease_id, intent)
     values ($1, $2, $3, $4, $5, 'intended', $6, $7, $8, $9, $10)
     on conflict (tenant_id, key_hash) do nothing
     returning *
   ), told as (
     insert into headgate.run_event (id, tenant_id, run_id, task_id, type, actor, fencing_token, lease_id, data)
     select headgate.uuid7(), tenant_id, run_id, task_id, 'operation.intended', 'applier', fencing_token, lease_id,
            jsonb_build_object('key', key, 'kind', kind)
       from made
   )
   select ${columns} from made o`,
);
const read = statement(
  'operation.read',
  `select ${columns} from headgate.operation o where o.tenant_id = $1 and o.key_hash = $2`,
);
const lock = statement(
  'operation.lock',
  `select ${columns} from headgate.operation o where o.tenant_id = $1 and o.key_hash = $2 for update`,
);
const startTry = statement(
  'operation.attempt',
  `with tried as (
     update headgate.operation
        set state = 'attempted', tries = tries + 1, attempted_at = clock_timestamp(), ambiguous_at = null,
            fencing_token = $3, lease_id = $4
      where tenant_id = $1 and key_hash = $2 and state in ('intended', 'absent')
     returning *
   ), told as (
     insert into headgate.run_event (id, tenant_id, run_id, task_id, type, actor, fencing_token, lease_id, data)
     select headgate.uuid7(), tenant_id, $5, task_id, 'operation.attempted', 'applier', fencing_token, lease_id,
            jsonb_build_object('key', key, 'tries', tries)
       from tried
   )
   select ${columns} from tried o`,
);
// $4 = the states the step is legal from; $5 = the attempt it speaks of, or null for any.
const report = statement(
  'operation.report',
  `with stepped as (
     update headgate.operation
        set state = $3, evidence = coalesce($6, evidence), external_id = coalesce($7, external_id),
            url = coalesce($8, url), detail = coalesce($9, detail),
            ambiguous_at = case when $3 = 'ambiguous' then clock_timestamp() else ambiguous_at end,
            settled_at = case when $3 in ('confirmed', 'conflicted', 'abandoned') then clock_timestamp() end
      where tenant_id = $1 and key_hash = $2 and state = any ($4::text[]) and ($5::int is null or tries = $5)
        and ($10::bigint is null
             or greatest(ambiguous_at, attempted_at) <= clock_timestamp() - $10 * interval '1 millisecond')
     returning *
   ), told as (
     insert into headgate.run_event (id, tenant_id, run_id, task_id, type, actor, data)
     select headgate.uuid7(), tenant_id, run_id, task_id, 'operation.' || state, $11,
            jsonb_build_object('key', key, 'tries', tries, 'externalId', external_id, 'detail', detail)
       from stepped
   )
   select ${columns} from stepped o`,
);
const settleLeft = statement(
  'operation.settle_left',
  `select greatest(0, ceil(extract(epoch from greatest(ambiguous_at, attempted_at) - clock_timestamp()) * 1000 + $3))::float8 as left
     from headgate.operation where tenant_id = $1 and key_hash = $2`,
);
// Unknown operations whose run has ended: the reconciler's, by reads only. Index: operation_unsettled.
const unsettled = statement(
  'operation.unsettled',
  `with due as materialized (
     select o.id from headgate.operation o join headgate.run r on r.id = o.run_id
      where o.state in ('attempted', 'ambiguous')
        and r.status in ('SUCCEEDED', 'FAILED', 'CANCELLED', 'NO_WORK', 'SUPERSEDED', 'EXPIRED', 'POLICY_DENIED')
        and (o.checked_at is null or o.checked_at < clock_timestamp() - $1 * interval '1 millisecond')
      order by o.attempted_at limit $2 for update of o skip locked
   )
   update headgate.operation o set checked_at = clock_timestamp() from due where o.id = due.id
   returning ${columns}, o.tenant_id as "tenantId", o.task_id as "taskId"`,
);

const hashOf = (key: string): Buffer => createHash('sha256').update(key, 'utf8').digest();

export interface UnsettledOperation extends Operation {
  readonly tenantId: number;
  readonly taskId: TaskId;
}

export const operations = {
  /** Marks what it returns as checked now, so that several reconcilers share the work. */
  unsettled: (c: Connection, everyMs: number, limit: number): Promise<UnsettledOperation[]> =>
    c.run<UnsettledOperation>(unsettled, [everyMs, limit]),
};

type Standing =
  | { readonly kind: 'held'; readonly taskId: TaskId }
  | { readonly kind: 'fence-lost' }
  | { readonly kind: 'cancelled' };

/** The ledger of one tenant. `actor` names who reports: `applier`, `reconciler`. */
export function createLedger(
  pool: Pool,
  options: { readonly tenantId: number; readonly ids: Ids; readonly actor: string },
): OperationLedger {
  const { tenantId, ids, actor } = options;

  const fenced = async (c: Connection, fence: OperationFence): Promise<Standing> => {
    const [lease] = await leases.lockFenced(c, [fence]);
    if (lease === undefined || !lease.current || lease.tenantId !== tenantId) return { kind: 'fence-lost' };
    const [run] = await runs.lock(c, [fence.runId]);
    if (run === undefined || isTerminal(run.status)) return { kind: 'fence-lost' };
    return isCancelling(run.status) ? { kind: 'cancelled' } : { kind: 'held', taskId: lease.taskId };
  };
  const find = async (c: Connection, key: string): Promise<Operation | null> =>
    (await c.run<Operation>(read, [tenantId, hashOf(key)]))[0] ?? null;

  const step = (
    key: string,
    to: OperationState,
    from: readonly OperationState[],
    facts: {
      tries?: number;
      evidence?: OperationData;
      externalId?: string | null;
      url?: string | null;
      detail?: string;
      settleMs?: number;
    },
  ): Promise<ReportResult> =>
    pool.use(async (c) => {
      const [operation] = await c.run<Operation>(report, [
        tenantId,
        hashOf(key),
        to,
        from,
        facts.tries ?? null,
        json(facts.evidence),
        facts.externalId ?? null,
        facts.url ?? null,
        plainText(facts.detail ?? null),
        facts.settleMs ?? null,
        actor,
      ]);
      if (operation !== undefined) return { kind: 'written', operation };
      const standing = await find(c, key);
      if (standing === null) throw new Error(`operation ${key} does not exist: intend comes first`);
      return { kind: 'unchanged', operation: standing };
    });

  const intendOnce = async (
    c: Connection,
    { key, kind, fence, intent }: Parameters<OperationLedger['intend']>[0],
  ): Promise<{ readonly result: IntendResult; readonly committedAt: Date }> => {
    const standing = await fenced(c, fence);
    const answer = async (result: IntendResult) => ({ result, committedAt: await databaseNow(c) });
    if (standing.kind !== 'held') return answer(standing);
    const [made] = await c.run<Operation>(insert, [
      ids.next('op') satisfies OperationId,
      tenantId,
      hashOf(key),
      key,
      kind satisfies OperationKind,
      fence.runId satisfies RunId,
      standing.taskId,
      fence.fencingToken,
      fence.leaseId,
      json(intent),
    ]);
    if (made !== undefined) return answer({ kind: 'intended', operation: made });
    const existing = await find(c, key); // a second statement: a new snapshot (SQL rule 3)
    if (existing === null) throw new Error(`operation ${key} vanished`);
    return answer({ kind: 'existing', operation: existing });
  };

  return {
    intend: async (input): Promise<IntendResult> => {
      const subject = { ...input.fence, tenantId, key: input.key };
      tell.invoked(HISTORY_OPS.intend, subject);
      try {
        const { result, committedAt } = await pool.transaction((c) => intendOnce(c, input));
        if ('operation' in result) tell.took(HISTORY_OPS.intend, subject, { kind: result.kind, committedAt });
        else tell.refused(HISTORY_OPS.intend, subject, { answer: result.kind });
        return result;
      } catch (fault) {
        tell.lost(HISTORY_OPS.intend, subject, fault);
        throw fault;
      }
    },

    attempt: ({ key, fence }): Promise<AttemptResult> =>
      pool.transaction(async (c) => {
        const standing = await fenced(c, fence);
        if (standing.kind !== 'held') return standing;
        const [operation] = await c.run<Operation>(lock, [tenantId, hashOf(key)]);
        if (operation === undefined) throw new Error(`operation ${key} does not exist: intend comes first`);
        if (isOperationSettled(operation.state)) return { kind: 'not-needed', operation };
        if (isOperationUnknown(operation.state)) return { kind: 'unknown', operation };
        const [tried] = await c.run<Operation>(startTry, [
          tenantId,
          hashOf(key),
          fence.fencingToken,
          fence.leaseId,
          fence.runId,
        ]);
        if (tried === undefined) throw new Error(`operation ${key} could not be attempted`);
        return { kind: 'go', operation: tried };
      }),

    confirm: ({ key, evidence, externalId, url }) =>
      step(key, 'confirmed', ['attempted', 'ambiguous', 'absent'], { evidence, externalId, url }),
    ambiguous: ({ key, tries, detail }) => step(key, 'ambiguous', ['attempted'], { tries, detail }),
    absent: async ({ key, tries, evidence, settleMs }): Promise<AbsentResult> => {
      const result = await step(key, 'absent', ['ambiguous'], { tries, evidence, settleMs });
      if (
        result.kind === 'written' ||
        result.operation.state !== 'ambiguous' ||
        result.operation.tries !== tries
      )
        return result;
      const [row] = await pool.use((c) =>
        c.run<{ left: number }>(settleLeft, [tenantId, hashOf(key), settleMs]),
      );
      return { kind: 'too-early', operation: result.operation, remainingMs: row?.left ?? settleMs };
    },
    conflicted: ({ key, tries, detail }) =>
      step(key, 'conflicted', ['attempted', 'ambiguous', 'absent'], { tries, detail }),
    abandoned: ({ key, tries, detail }) =>
      step(key, 'abandoned', ['intended', 'attempted', 'ambiguous', 'absent'], { tries, detail }),
    find: (key) => pool.use((c) => find(c, key)),
  };
}
