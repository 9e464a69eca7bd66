/** A refused request is answered where it was asked, once, whatever breaks in between (INV-EF1, INV-EF2). */
import type { RunId } from '@headgate/domain';
import { writeVerdicts } from '@headgate/store';
import { armFailPoint } from '@headgate/telemetry';
import { expect, test } from 'vitest';
import { aForgeWorld, type ForgeWorld } from './forge-world.js';

const ASK = '/agent fix the tests';

/** A command that is refused: its task was cancelled. */
async function refused(): Promise<ForgeWorld> {
  const forge = await aForgeWorld();
  await forge.comment({ id: 1, body: ASK });
  await forge.world.reconciler().round('unresolved-heads');
  await forge.world.rows('update headgate.task set cancelled_at = clock_timestamp()');
  await forge.comment({ id: 2, body: ASK });
  await forge.world.reconciler().round('unresolved-heads');
  return forge;
}

const told = ({ github }: ForgeWorld) => github.log.effects('comment.created');
const textOf = (entry: { readonly body: unknown } | undefined): string =>
  JSON.parse(JSON.stringify(entry?.body ?? { body: '' })).body;
const state = ({ world }: ForgeWorld) =>
  world.rows<{ state: string; tries: number }>('select state, tries from headgate.feedback');
/** The dead one's claim runs out, and the settle window passes. */
const later = ({ world }: ForgeWorld) =>
  world.rows(
    "update headgate.feedback set claimed_until = clock_timestamp() - interval '1 s', due_at = clock_timestamp()",
  );
const round = ({ world }: ForgeWorld) => world.reconciler({ settleMs: 0 }).round('untold-feedback');

test('Q9: it is told once, with the sentence and the way to look further, and no route stays silent', async () => {
  const forge = await refused();
  await Promise.all([round(forge), round(forge)]);
  await round(forge);
  const [comment, ...others] = told(forge);
  expect(others).toEqual([]);
  expect(comment).toMatchObject({ path: '/repos/acme/api/issues/7/comments' });
  const body = textOf(comment);
  expect(body).toContain('The task was cancelled');
  expect(body).toMatch(/headgate why rcpt_[0-9a-z]{26}/);
  expect(body).toMatch(/^<!-- headgate-feedback: rcpt_[0-9a-z]{26} -->/);
  expect(await state(forge)).toEqual([{ state: 'confirmed', tries: 1 }]);

  await forge.comment({ id: 3, body: '/agent dance' });
  const [silent] = await forge.world.rows<{ n: number }>('select count(*)::int as n from headgate.feedback');
  // A command that a route listens to and does not want is answered, too.
  expect(silent?.n).toBe(2);
});

test('INV-EF1: a reconciler that dies between call and record: the next one looks, and does not write again', async () => {
  const forge = await refused();
  const armed = armFailPoint('feedback.called', 'throw');
  await round(forge);
  armed.disarm();
  expect(told(forge)).toHaveLength(1);
  expect(await state(forge)).toEqual([{ state: 'attempted', tries: 1 }]);
  // Its claim still holds: nobody takes it.
  await round(forge);
  expect(await state(forge)).toEqual([{ state: 'attempted', tries: 1 }]);
  await later(forge);
  await round(forge);
  expect(told(forge)).toHaveLength(1);
  expect(await state(forge)).toEqual([{ state: 'confirmed', tries: 1 }]);
});

test('INV-EF1: one that dies before the call: the next one looks, finds nothing, and writes', async () => {
  const forge = await refused();
  const armed = armFailPoint('feedback.attempted', 'throw');
  await round(forge);
  armed.disarm();
  expect(told(forge)).toHaveLength(0);
  await later(forge);
  await round(forge);
  expect(told(forge)).toHaveLength(1);
  expect(await state(forge)).toEqual([{ state: 'confirmed', tries: 2 }]);
});

test('INV-EF3: the forge takes the comment and answers 502: it is read, not repeated', async () => {
  const forge = await refused();
  forge.github.failNext({ method: 'POST', fault: { kind: 'bad-gateway', when: 'after' } });
  await round(forge);
  expect(await state(forge)).toEqual([{ state: 'ambiguous', tries: 1 }]);
  await later(forge);
  // What cannot be read is not written again either.
  forge.github.failNext({ method: 'GET', fault: { kind: 'bad-gateway', when: 'before' }, count: 3 });
  await round(forge);
  expect(await state(forge)).toEqual([{ state: 'ambiguous', tries: 1 }]);
  await later(forge);
  await round(forge);
  expect(told(forge)).toHaveLength(1);
  expect(await state(forge)).toEqual([{ state: 'confirmed', tries: 1 }]);
});

test('a run that ends before its start is told where it was asked for, too', async () => {
  const forge = await aForgeWorld();
  await forge.comment({ id: 1, body: ASK });
  await forge.world.reconciler().round('unresolved-heads');
  const [item] = await forge.world.rows<{ runId: RunId }>(
    `update headgate.queue_item set state = 'dispatched', dispatched_at = clock_timestamp(), dispatch_no = 1
     returning run_id as "runId"`,
  );
  if (item === undefined) throw new Error('no run waits');
  const verdict = { kind: 'end', to: 'NO_WORK', reasonCode: 'STALE_INPUT', detail: 'It moved.' } as const;
  await writeVerdicts(forge.world.db.service, [{ ...item, dispatchNo: 1, verdict }], 'worker');
  await round(forge);
  const [comment] = told(forge);
  expect(textOf(comment)).toContain('It moved.');
});

test('a forge that refuses the comment ends it, and the row says why', async () => {
  const forge = await refused();
  forge.github.failNext({ method: 'POST', fault: { kind: 'forbidden' } });
  await round(forge);
  const rows = await forge.world.rows<{ state: string; detail: string }>(
    'select state, detail from headgate.feedback',
  );
  expect(rows).toEqual([{ state: 'abandoned', detail: expect.stringContaining('403') }]);
});
