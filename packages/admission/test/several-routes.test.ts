import { describe, expect, it } from 'vitest';
import { CHECKS, policyFrom } from '../../../test/world/policy.js';
import { aSignal, sha, submissionOf } from '../../../test/world/signals.js';
import { anAdmission, aWorld, type World } from '../../../test/world/world.js';

/** `fix` and a second route, whose keys the test gives. */
const withSecond = (...lines: readonly string[]): string =>
  `${CHECKS}  second:
    on: [ github.check_run.completed ]
${lines.map((line) => `    ${line}\n`).join('')}`;

const OWN_WORK = 'work: { key: "{{ repository.id }}/second/{{ target.id }}" }';

interface Row {
  readonly id: string;
  readonly route: string | null;
  readonly outcome: string;
  readonly reason_code: string;
  readonly rule: string;
  readonly run_id: string | null;
  readonly task_id: string | null;
  readonly event_id: string;
}
const receiptsOf = (world: World) =>
  world.sql<Row>(
    'select id, route, outcome, reason_code, rule, run_id, task_id, event_id from headgate.receipt order by route, id',
  );

describe('several routes that take one signal', () => {
  it('I7: each decides and has its receipt; the same work is run once, and both triggers are kept on its task', async () => {
    const world = await aWorld(await policyFrom(withSecond('mode: propose')));
    const { admission, admitted } = anAdmission(world);

    const answer = await admission.submit(submissionOf());

    const receipts = await receiptsOf(world);
    expect(receipts).toMatchObject([
      { route: 'fix', reason_code: 'ADMITTED', run_id: answer.runId },
      { route: 'second', reason_code: 'DUPLICATE_WORK', run_id: answer.runId },
    ]);
    expect(new Set(receipts.map(({ event_id }) => event_id)).size).toBe(1);
    expect(answer.reasonCode).toBe('ADMITTED');
    expect(admitted).toHaveLength(1);
    const attached = await world.sql<{ receipt_id: string }>('select receipt_id from headgate.task_signal');
    expect(attached.map((row) => row.receipt_id).sort()).toEqual(receipts.map(({ id }) => id).sort());
  });

  it('I4: routes that name different work each get a run, and the payload is kept once', async () => {
    const world = await aWorld(await policyFrom(withSecond(OWN_WORK)));
    const { admission, admitted } = anAdmission(world);
    const payload = { mediaType: 'application/json', body: Buffer.from('{"a":1}') };

    const answer = await admission.submit(submissionOf({}, { payload }));

    const receipts = await receiptsOf(world);
    expect(receipts.map(({ reason_code }) => reason_code)).toEqual(['ADMITTED', 'ADMITTED']);
    expect(new Set(receipts.map(({ task_id }) => task_id)).size).toBe(2);
    expect(admitted).toHaveLength(2);
    const kept = await world.sql<{ receipt_id: string }>('select receipt_id from headgate.payload');
    expect(kept).toEqual([{ receipt_id: answer.receiptId }]);
  });

  it('I8: the same delivery again is answered once, and with the run that the first led to', async () => {
    // The first route of the file only observes: the run is the second one's.
    const yaml = withSecond(OWN_WORK).replace(
      'on: [ github.check_run.completed, manual ]',
      '$&\n    mode: observe',
    );
    const world = await aWorld(await policyFrom(yaml));
    const { admission } = anAdmission(world);
    const signal = aSignal();

    const first = await admission.submit({ signal, tenant: 'default', payload: null });
    const again = await admission.submit({ signal, tenant: 'default', payload: null });

    expect(first).toMatchObject({ outcome: 'accept', reasonCode: 'ADMITTED' });
    expect(again).toMatchObject({ reasonCode: 'DUPLICATE_DELIVERY', existing: true, runId: first.runId });
    expect(await receiptsOf(world)).toHaveLength(3);
  });

  it('SQL rule 9: a delivery and its repeat in one batch are decided as if they came one after the other', async () => {
    const world = await aWorld(await policyFrom(withSecond(OWN_WORK)));
    const { admission } = anAdmission(world);
    const signal = aSignal();

    const answers = await Promise.all(
      [1, 2, 3].map(() => admission.submit({ signal, tenant: 'default', payload: null })),
    );

    expect(answers.map(({ reasonCode }) => reasonCode)).toEqual([
      'ADMITTED',
      'DUPLICATE_DELIVERY',
      'DUPLICATE_DELIVERY',
    ]);
    expect(answers[1]?.runId).toBe(answers[0]?.runId);
    expect(await world.sql('select 1 from headgate.run')).toHaveLength(2);
    expect(await receiptsOf(world)).toHaveLength(4);
  });

  it('I8: the delivery is remembered for the longest window of the routes that took it', async () => {
    const world = await aWorld(await policyFrom(withSecond('dedupe: 30d')));
    const { admission } = anAdmission(world);
    await admission.submit(submissionOf());
    const [row] = await world.sql<{ days: number }>(
      'select round(extract(epoch from expires_at - clock_timestamp()) / 86400)::int as days from headgate.delivery',
    );
    expect(row?.days).toBe(30);
  });

  it('I7: one that none takes has one receipt, with the rule of the nearest and what the others said', async () => {
    const world = await aWorld(await policyFrom(withSecond('branches: [ release/* ]')));
    const { admission } = anAdmission(world);
    const data = {
      check_run: { conclusion: 'success', check_suite: { head_branch: 'topic' }, pull_requests: [] },
    };

    const answer = await admission.submit(submissionOf({ data }));

    expect(await receiptsOf(world)).toMatchObject([{ route: null, rule: 'route.branches' }]);
    expect(answer.reasonCode).toBe('OUT_OF_SCOPE');
    expect(answer.message).toContain('Route "second" does not take branch "topic".');
    expect(answer.message).toContain('Route "fix": "event.check_run.conclusion ==');
  });
});

describe('a route that only observes', () => {
  it('I9: has a receipt that says what it would have got, and no run; the next version too', async () => {
    const world = await aWorld(await policyFrom(`${CHECKS}    mode: observe\n`));
    const { admission, admitted } = anAdmission(world);

    const first = await admission.submit(submissionOf());
    const second = await admission.submit(submissionOf({ inputVersion: sha('b') }));

    for (const answer of [first, second]) {
      expect(answer).toMatchObject({ outcome: 'no-work', reasonCode: 'OBSERVED', runId: null });
      expect(answer.message).toContain('It would have been ADMITTED (new-version).');
    }
    expect(admitted).toEqual([]);
    for (const table of ['run', 'queue_item', 'task_version', 'deferred_signal']) {
      expect(await world.sql(`select 1 from headgate.${table}`)).toEqual([]);
    }
    expect(await world.sql('select 1 from headgate.task_signal')).toHaveLength(2);
  });

  it('I1: a person who starts it by hand gets no run either', async () => {
    const world = await aWorld(await policyFrom(`${CHECKS}    mode: observe\n`));
    const { admission } = anAdmission(world);
    const data = { route: 'fix' };
    const manual = { trigger: 'manual', type: 'manual', source: 'api', via: 'api', data } as const;
    expect(await admission.submit(submissionOf(manual))).toMatchObject({
      reasonCode: 'OBSERVED',
      runId: null,
    });
  });
});
