import {
  BIRTH_STATUSES,
  ILLEGAL_TRANSITION_SQLSTATE,
  isLegal,
  RUN_STATUSES,
  type RunStatus,
  transitionFunctionSql,
  transitionTriggerSql,
} from '@headgate/domain';
import { isDataFault, listMigrations, runs } from '@headgate/store';
import { seedRun, testStore, withClient } from '@headgate/testkit';
import { describe, expect, test } from 'vitest';

const bodyOf = (sql: string): string => sql.split('$assert_run_transition$')[1]?.trim() ?? '';

/** Tries every pair, each in a subtransaction that is undone; the trigger is off only to set the starting status. */
const TRY_EVERY_STEP = `
  create function try_every_step(id uuid) returns table (was text, becomes text, code text)
  language plpgsql as $$
  declare
    start_status headgate.run_status;
    next_status headgate.run_status;
  begin
    foreach start_status in array enum_range(null::headgate.run_status) loop
      alter table headgate.run disable trigger run_transition;
      update headgate.run r set status = start_status where r.id = $1;
      alter table headgate.run enable trigger run_transition;
      foreach next_status in array enum_range(null::headgate.run_status) loop
        was := start_status;
        becomes := next_status;
        code := 'accepted';
        begin
          update headgate.run r set status = next_status where r.id = $1;
          raise exception using errcode = 'HG999';
        exception
          when sqlstate 'HG999' then null;
          when others then code := sqlstate;
        end;
        return next;
      end loop;
    end loop;
  end $$`;

describe('the life of a run, held by the database', () => {
  test('Q10: the trigger in the database is the text that the domain generates', async () => {
    const db = await testStore();
    const [row] = await db.service.use((c) =>
      c.query<{ body: string; trigger: string }>(
        `select p.prosrc as body, pg_get_triggerdef(t.oid) as trigger
           from pg_trigger t join pg_proc p on p.oid = t.tgfoid where t.tgname = 'run_transition'`,
      ),
    );
    expect(row?.body.trim()).toBe(bodyOf(transitionFunctionSql()));
    expect(row?.trigger).toMatch(/BEFORE INSERT OR UPDATE ON headgate\.run FOR EACH ROW/);
    const [first] = await listMigrations();
    expect(first?.text).toContain(transitionFunctionSql());
    expect(first?.text).toContain(transitionTriggerSql());
  });

  test('Q10: the enum of the database is the list of the domain, in its order', async () => {
    const db = await testStore();
    const rows = await db.service.use((c) =>
      c.query<{ status: RunStatus }>('select unnest(enum_range(null::headgate.run_status))::text as status'),
    );
    expect(rows.map((row) => row.status)).toEqual([...RUN_STATUSES]);
  });

  test('INV-ST1: of all 441 steps the database accepts the legal ones and refuses the others with HG001', async () => {
    const db = await testStore();
    const { runId } = await seedRun(db);
    const rows = await withClient(db.urls.ownerUrl, async (owner) => {
      await owner.query(TRY_EVERY_STEP);
      const result = await owner.query<{ was: RunStatus; becomes: RunStatus; code: string }>(
        'select * from try_every_step($1)',
        [runId],
      );
      return result.rows;
    });
    expect(rows).toHaveLength(RUN_STATUSES.length ** 2);
    for (const { was, becomes, code } of rows) {
      const expected = was === becomes || isLegal(was, becomes) ? 'accepted' : ILLEGAL_TRANSITION_SQLSTATE;
      expect(code, `${was} -> ${becomes}`).toBe(expected);
    }
    expect(rows.filter((row) => row.code === 'accepted').length).toBeGreaterThan(80);
  });

  test('INV-ST1: a run is born in four statuses only', async () => {
    const db = await testStore();
    const { runId } = await seedRun(db);
    for (const status of RUN_STATUSES) {
      const born = db.service.use((c) =>
        c.query(
          `insert into headgate.run select (r).* from (
             select jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'status', $2::text)) as r
               from headgate.run r where r.id = $1) copy`,
          [runId, status],
        ),
      );
      if ((BIRTH_STATUSES as readonly RunStatus[]).includes(status)) await expect(born).resolves.toEqual([]);
      else await expect(born, status).rejects.toMatchObject({ code: ILLEGAL_TRANSITION_SQLSTATE });
    }
  });

  test('an illegal step of `move` is a data fault that names run and steps, and leaves no event', async () => {
    const db = await testStore();
    const { runId } = await seedRun(db);
    const events = () => db.service.use((c) => c.query('select count(*) from headgate.run_event'));
    const before = await events();
    const fault = await db.service
      .transaction((c) =>
        runs.move(c, [{ runId, from: 'QUEUED', to: 'SUCCEEDED', reasonCode: 'SUCCEEDED', actor: 'test' }]),
      )
      .catch((thrown: { code: string; detail: string }) => thrown);
    expect(fault).toMatchObject({ code: ILLEGAL_TRANSITION_SQLSTATE });
    expect(isDataFault(fault)).toBe(true);
    expect(JSON.parse((fault as { detail: string }).detail)).toEqual({
      run: runId,
      from: 'QUEUED',
      to: 'SUCCEEDED',
    });
    expect(await events()).toEqual(before);
  });

  test('a column of an ended run may still be written; its status may not', async () => {
    const db = await testStore();
    const { runId } = await seedRun(db, { status: 'ADMITTED' });
    await db.service.transaction(async (c) => {
      await runs.move(c, [
        { runId, from: 'ADMITTED', to: 'NO_WORK', reasonCode: 'STALE_INPUT', actor: 'test' },
      ]);
      await c.query('update headgate.run set cost_usd = 1 where id = $1', [runId]);
    });
    const back = db.service.use((c) =>
      c.query("update headgate.run set status = 'QUEUED' where id = $1", [runId]),
    );
    await expect(back).rejects.toMatchObject({ code: ILLEGAL_TRANSITION_SQLSTATE });
  });

  test('a run is born with its events in order, and each of its steps leaves one', async () => {
    const db = await testStore();
    const { runId } = await seedRun(db);
    const told = await db.service.use((c) =>
      c.query('select type, to_status from headgate.run_event where run_id = $1 order by id', [runId]),
    );
    expect(told).toEqual([
      { type: 'run.admitted', to_status: 'QUEUED' },
      { type: 'run.queued', to_status: 'QUEUED' },
    ]);
  });
});
