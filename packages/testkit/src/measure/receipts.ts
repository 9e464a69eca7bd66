/**
 * Very many receipts and nothing else, for searching among them: ten million in minutes. Indexes are dropped first and
 * made again afterwards, which is several times faster than growing them row by row.
 */
import type { Client } from 'pg';
import type { SeededTenant } from '../builders/tenant.js';
import { withClient } from '../services/prepare-template.js';

export interface ReceiptSeed {
  /** Whose receipts they are. */
  readonly like: SeededTenant;
  readonly receipts: number;
}

const AT_ONCE = 1_000_000;
/** Receipts of one piece of work: its signals and the ends of its runs. */
const PER_TASK = 20;
const REPOSITORIES = 200;
/** Spread evenly over the last thirty days. */
const SPAN_MS = 30 * 86_400_000;

export async function seedReceipts(ownerUrl: string, { like, receipts }: ReceiptSeed): Promise<void> {
  await withClient(ownerUrl, async (owner) => {
    await owner.query('select headgate.ensure_partitions()');
    const indexes = await dropIndexes(owner);
    await owner.query(
      `insert into headgate.task (id, tenant_id, key_hash, work_key)
       select headgate.uuid7(n::int), $1, sha256(convert_to('mass/' || n, 'UTF8')), 'mass/' || n
         from generate_series(0, ($2::bigint - 1) / ${PER_TASK}) n`,
      [like.id, receipts],
    );
    for (let from = 0; from < receipts; from += AT_ONCE) {
      await owner.query(MADE, [
        like.id,
        like.policyVersion,
        receipts,
        from,
        Math.min(from + AT_ONCE, receipts) - 1,
      ]);
    }
    for (const index of indexes) await owner.query(index);
    await owner.query('vacuum (analyze) headgate.receipt');
    await owner.query('analyze headgate.task');
  });
}

/** Those of the parent stand for those of its partitions. The key stays: it keeps the ids apart. */
async function dropIndexes(owner: Client): Promise<readonly string[]> {
  const { rows } = await owner.query<{ name: string; definition: string }>(
    `select c.relname as name, pg_get_indexdef(c.oid) as definition
       from pg_index i join pg_class c on c.oid = i.indexrelid
      where i.indrelid = 'headgate.receipt'::regclass and not i.indisprimary`,
  );
  for (const { name } of rows) await owner.query(`drop index headgate.${name}`);
  return rows.map(({ definition }) => definition.replace(' ON ONLY ', ' ON '));
}

// Of twenty signals of a task nine are decided and run, nine end a run, one came twice and one no route took.
const MADE = `insert into headgate.receipt
  (id, tenant_id, kind, outcome, reason_code, message, rule, trigger, via, route, created_at, source, event_id, type,
   received_at, repository, work_key, input_version, generation, policy_version, task_id)
  select (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n & 4095), 3, '0')
          || '8' || substr(md5(n::text), 1, 15))::uuid,
         $1, case when part between 9 and 17 then 'closing' else 'decision' end,
         case when part < 18 then 'accept' else 'reject' end,
         case when part < 9 then 'ADMITTED' when part < 18 then 'SUCCEEDED' when part = 18 then 'DUPLICATE_DELIVERY'
              else 'NO_ROUTE' end,
         'As the catalogue says.', 'work.new', 'event', 'webhook', case when part < 19 then 'fix' end, at, 'acme',
         '1/' || md5(n::text)::uuid, 'github.check_run.completed', at,
         'acme/service-' || (n / ${PER_TASK}) % ${REPOSITORIES}, case when part < 19 then k.work_key end,
         encode(sha256(convert_to(n::text, 'UTF8')), 'hex'), 1, $2, case when part < 19 then k.id end
    from (select n, n % ${PER_TASK} as part,
                 clock_timestamp() - ($3::bigint - n) * (${SPAN_MS}::float8 / $3::bigint) * interval '1 millisecond' as at
            from generate_series($4::bigint, $5::bigint) n) numbered
    join headgate.task k on k.tenant_id = $1 and k.key_hash = sha256(convert_to('mass/' || n / ${PER_TASK}, 'UTF8'))`;
