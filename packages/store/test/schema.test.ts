import { declaredStatements, orm, schema } from '@headgate/store';
import { finishRun, runInStatus, seedRun, seedTenant, testStore } from '@headgate/testkit';
import { eq, getTableColumns, is, sql } from 'drizzle-orm';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';
import { describe, expect, test } from 'vitest';
import { latchBehind, rows } from './rows.js';
import { serviceSession } from './sessions.js';

interface ColumnFact extends Record<string, unknown> {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  readonly nullable: boolean;
}

const described = (): ColumnFact[] =>
  Object.values(schema)
    .flatMap((value) => (is(value, PgTable) ? [value] : []))
    .flatMap((table) =>
      Object.values(getTableColumns(table)).map((column) => ({
        table: getTableConfig(table).name,
        column: column.name,
        type: column.getSQLType().replaceAll(' ', ''),
        nullable: !column.notNull,
      })),
    );

const byName = (facts: readonly ColumnFact[]) =>
  facts.toSorted((a, b) => `${a.table}.${a.column}`.localeCompare(`${b.table}.${b.column}`));

describe('the tables that drizzle is told of', () => {
  test('are those of the migrated database: every column, its type and whether it may be null', async () => {
    const db = await testStore();
    const actual = await rows<ColumnFact>(
      db,
      `select c.relname as "table", a.attname as "column", not a.attnotnull as nullable,
              replace(replace(format_type(a.atttypid, a.atttypmod), 'headgate.', ''), ' ', '') as type
         from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where c.relnamespace = 'headgate'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`,
    );
    expect(byName(described())).toEqual(byName(actual));
    expect(actual.length).toBeGreaterThan(300);
  });

  test('read typed rows, inside the transaction of the connection and its tenants', async () => {
    const db = await testStore();
    const [ours, theirs] = [await seedTenant(db, { key: 'a' }), await seedTenant(db, { key: 'b' })];
    const run = await runInStatus(db, 'RUNNING', { tenant: ours });
    await seedRun(db, { tenant: theirs });
    if (run.lease === null) throw new Error('no lease');
    await latchBehind(db, run);
    const read = (tenants: readonly number[]) =>
      db.api.transaction(
        async (c) => ({
          runs: await orm(c).select().from(schema.runs),
          leases: await orm(c)
            .select({
              token: schema.leases.fencingToken,
              key: schema.leases.exclusiveKey,
              at: schema.leases.expiresAt,
            })
            .from(schema.leases)
            .innerJoin(schema.runs, eq(schema.runs.id, schema.leases.runId)),
          deferred: await orm(c).select({ dueAt: schema.deferredSignals.dueAt }).from(schema.deferredSignals),
          events: await orm(c).select({ xid: schema.runEvents.xid }).from(schema.runEvents).limit(1),
        }),
        { tenants },
      );
    const seen = await read([ours.id]);
    expect(seen.runs).toMatchObject([
      { id: run.runId, status: 'RUNNING', costUsd: 0, parentVersions: [], spec: { workKey: run.workKey } },
    ]);
    expect(seen.runs[0]?.createdAt).toBeInstanceOf(Date);
    expect(seen.leases).toMatchObject([
      { token: run.lease.fence.fencingToken, key: null, at: expect.any(Date) },
    ]);
    expect(seen.deferred).toEqual([{ dueAt: null }]);
    expect(seen.events[0]?.xid).toMatch(/^\d+$/);
    expect((await read([])).runs).toEqual([]);
    expect((await read([ours.id, theirs.id])).runs).toHaveLength(2);
  });

  test('give money as numbers, bytes as buffers and days as text', async () => {
    const db = await testStore();
    const run = await runInStatus(db, 'RUNNING');
    if (run.lease === null) throw new Error('no lease');
    await finishRun(db, run.lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' }, 1.5);
    const read = await db.service.transaction(async (c) => ({
      day: await orm(c).select().from(schema.tenantDays),
      task: await orm(c).select({ hash: schema.tasks.keyHash }).from(schema.tasks),
      sum: await orm(c)
        .select({ total: sql<number>`sum(${schema.attempts.costUsd})` })
        .from(schema.attempts),
    }));
    expect(read.day).toMatchObject([{ settledUsd: 1.5, day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) }]);
    expect(Buffer.isBuffer(read.task[0]?.hash)).toBe(true);
    expect(read.sum).toEqual([{ total: 1.5 }]);
  });
});

describe('declared statements', () => {
  test('are all accepted by the database as it is migrated', async () => {
    const db = await testStore();
    const session = await serviceSession(db);
    const refused: string[] = [];
    for (const { name, text } of declaredStatements()) {
      try {
        await session.query(`prepare checked as ${text}`);
        await session.query('deallocate checked');
      } catch (fault) {
        refused.push(`${name}: ${String(fault)}`);
      }
    }
    expect(refused).toEqual([]);
  });
});
