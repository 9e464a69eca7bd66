import { cancelTask, type Database, deferredSignals } from '@headgate/store';
import { eventually, withClient } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { CHECKS, policyFrom } from '../../../test/world/policy.js';
import { aSignal, sha, submissionOf } from '../../../test/world/signals.js';
import { anAdmission, aWorld, type World } from '../../../test/world/world.js';

const DEBOUNCED = `${CHECKS}    debounce: { quiet: 1m, max: 3m }\n`;
const debouncedWorld = async (yaml = DEBOUNCED) => {
  const world = await aWorld(await policyFrom(yaml));
  return { world, ...anAdmission(world) };
};
const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute));
const version = (name: string, minute: number | null) =>
  submissionOf({ inputVersion: sha(name), sourceAt: minute === null ? null : at(minute) });

interface Waiting {
  readonly id: string;
  readonly version: string;
  /** To the nearest ten: the test itself takes time, the waits here are 30 s and 60 s. */
  readonly in_s: number;
  readonly reason_code: string;
}
const waitingIn = (world: World) =>
  world.sql<Waiting>(
    `select id, reason_code, candidate ->> 'inputVersion' as version,
            (10 * round(extract(epoch from due_at - clock_timestamp()) / 10))::int as in_s
       from headgate.deferred_signal order by candidate ->> 'inputVersion'`,
  );
/** As if so much time had gone by since it began to wait. */
const passes = (world: World, minutes: number) =>
  world.sql(
    `update headgate.deferred_signal
        set due_at = due_at - $1 * interval '1 minute',
            candidate = jsonb_set(candidate, '{debouncedSince}',
              to_jsonb(((candidate ->> 'debouncedSince')::timestamptz - $1 * interval '1 minute')::text))`,
    [minutes],
  );
const runsOf = (world: World) =>
  world.sql<{ input_version: string }>('select input_version from headgate.run order by id');

describe('a route that waits for more signals of the same work', () => {
  it('I8: each puts the decision off; then the newest version is decided once, under the receipt that had it wait', async () => {
    const { world, admission } = await debouncedWorld();
    const answers = [];
    for (const [name, minute] of [
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ] as const) {
      answers.push(await admission.submit(version(name, minute)));
    }
    expect(answers.map(({ reasonCode, outcome }) => `${outcome} ${reasonCode}`)).toEqual(
      Array(3).fill('defer DEBOUNCED'),
    );
    expect(await waitingIn(world)).toMatchObject([{ version: sha('c'), in_s: 60 }]);
    expect(await admission.promoteDue(10)).toBe(0);

    await passes(world, 1);
    expect(await admission.promoteDue(10)).toBe(1);

    expect(await runsOf(world)).toEqual([{ input_version: sha('c') }]);
    const [promoted] = await world.sql<Record<string, unknown>>(
      "select reason_code, parent_receipt_id, route from headgate.receipt where reason_code = 'ADMITTED'",
    );
    expect(promoted).toMatchObject({ parent_receipt_id: answers[2]?.receiptId, route: 'fix' });
    expect(await world.sql('select 1 from headgate.task_signal')).toHaveLength(4);
    expect(await waitingIn(world)).toEqual([]);
  });

  it('I8: not for ever: the bound counts from the first signal', async () => {
    const { world, admission } = await debouncedWorld();
    await admission.submit(version('a', 1));
    await passes(world, 2.5);
    const late = await admission.submit(version('b', 2));
    const [waiting] = await waitingIn(world);
    expect(waiting).toMatchObject({ version: sha('b'), in_s: 30 });
    expect(late.retryAfter).not.toBeNull();
  });

  it('I8: the same version again puts it off, an older one is refused, one of unknown place waits beside it', async () => {
    const { world, admission } = await debouncedWorld();
    await admission.submit(version('b', 2));
    await passes(world, 0.5);
    await admission.submit(version('b', 2));
    expect(await admission.submit(version('a', 1))).toMatchObject({ reasonCode: 'SUPERSEDED' });
    expect(await admission.submit(version('x', null))).toMatchObject({ reasonCode: 'DEBOUNCED' });
    expect(await waitingIn(world)).toMatchObject([
      { version: sha('b'), in_s: 60 },
      { version: sha('x'), in_s: 60 },
    ]);
  });

  it('SQL rule 9: a burst in one batch leaves one row, of the newest', async () => {
    const { world, admission } = await debouncedWorld();
    await Promise.all(['a', 'b', 'c', 'd'].map((name, index) => admission.submit(version(name, index))));
    expect(await waitingIn(world)).toMatchObject([{ version: sha('d') }]);
  });

  it('I4: a delivery that is repeated while its work waits is a duplicate, and puts nothing off', async () => {
    const { world, admission } = await debouncedWorld();
    const signal = aSignal();
    await admission.submit({ signal, tenant: 'default', payload: null });
    await passes(world, 0.5);
    const again = await admission.submit({ signal, tenant: 'default', payload: null });
    expect(again.reasonCode).toBe('DUPLICATE_DELIVERY');
    expect(await waitingIn(world)).toMatchObject([{ in_s: 30 }]);
  });

  it('Q5: cancelling the task refuses what waits, with a receipt', async () => {
    const { world, admission } = await debouncedWorld();
    const answer = await admission.submit(version('a', 1));
    if (answer.taskId === null) throw new Error('no task');
    await cancelTask(world.database.service, answer.taskId, { actor: 'ada', reason: null });
    expect(await waitingIn(world)).toEqual([]);
    const [refused] = await world.sql<Record<string, unknown>>(
      "select parent_receipt_id from headgate.receipt where reason_code = 'TASK_CANCELLED'",
    );
    expect(refused).toEqual({ parent_receipt_id: answer.receiptId });
  });

  it('I1: a person does not wait', async () => {
    const { admission } = await debouncedWorld();
    const manual = { trigger: 'manual', type: 'manual', source: 'api', via: 'api', data: { route: 'fix' } };
    expect(await admission.submit(submissionOf(manual as never))).toMatchObject({ reasonCode: 'ADMITTED' });
  });

  it('I8: a new version while the waiting one is promoted: neither is lost, and the newest is the last word', async () => {
    const { world, admission } = await debouncedWorld();
    await admission.submit(version('a', 1));
    await passes(world, 1);
    // Holds the task, as an admission of version b does that has not committed yet.
    await withClient(world.urls.ownerUrl, async (holder) => {
      await holder.query('begin');
      await holder.query('select 1 from headgate.task for update');
      const promoted = admission.promoteDue(10);
      await isWaitingForLock(world);
      await holder.query('commit');
      expect(await promoted).toBe(1);
    });
    await admission.submit(version('b', 2));
    await passes(world, 1);
    await admission.promoteDue(10);
    expect(await runsOf(world)).toEqual([{ input_version: sha('a') }, { input_version: sha('b') }]);
  });

  it('I8: the promoter that comes second finds its row replaced, and leaves the decision to the new one', async () => {
    const { world, admission } = await debouncedWorld();
    await admission.submit(version('a', 1));
    await passes(world, 1);
    const other = anAdmission(world).admission;
    const due = deferredSignals.due;
    // The promoter has read the row and stops there, until another signal has replaced it.
    let go = (): void => {};
    const replaced = new Promise<void>((resolve) => {
      go = resolve;
    });
    const seen = await promoteAfter(world.database, due, replaced, async () => {
      await other.submit(version('b', 2));
      go();
      return admission;
    });
    expect(seen).toBe(0);
    expect(await runsOf(world)).toEqual([]);
    expect(await waitingIn(world)).toMatchObject([{ version: sha('b') }]);
  });
});

async function isWaitingForLock(world: World): Promise<void> {
  const waiting = () => world.sql('select 1 from pg_locks where not granted');
  await eventually(async () => (await waiting()).length > 0, { what: 'the promotion waits for the task' });
}

/** Promotes with the rows as they stood before `meanwhile`. */
async function promoteAfter(
  database: Database,
  due: typeof deferredSignals.due,
  replaced: Promise<void>,
  meanwhile: () => Promise<{ promoteDue(limit: number): Promise<number> }>,
): Promise<number> {
  const before = await database.service.use((c) => due(c, 10));
  const admission = await meanwhile();
  await replaced;
  const original = deferredSignals.due;
  try {
    deferredSignals.due = () => Promise.resolve(before);
    return await admission.promoteDue(10);
  } finally {
    deferredSignals.due = original;
  }
}
