import { type SignalAnswer as Decided, formatId } from '@headgate/domain';
import type { Explanation, Problem, Receipt, RunDetail, SignalAnswer } from '@headgate/sdk';
import { policies } from '@headgate/store';
import { aRoute, claimRun, finishRun } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { aConsole, aTwoTenantPolicy, type TestConsole } from './a-console.js';
import { deliver, received } from './seeds.js';

const replay = (test: TestConsole, receipt: string, body: unknown = {}, token = test.tokens.operator) =>
  test.ask(`/v1/receipts/${receipt}/replay`, { method: 'POST', body, token });
const accepted = async (response: Promise<Response>): Promise<SignalAnswer> => {
  const answered = await response;
  const text = await answered.text();
  if (answered.status !== 202) throw new Error(`${answered.status}: ${text}`);
  return JSON.parse(text) as SignalAnswer;
};
const refused = async (response: Promise<Response>): Promise<Problem> =>
  (await response).json() as Promise<Problem>;

const LISTENING = aRoute({ on: [{ kind: 'event', type: 'github.check_run.completed' }], repositories: [] });
const DEAF = aRoute({ ...LISTENING, on: [{ kind: 'event', type: 'github.push' }] });

async function consoleWith(route = LISTENING): Promise<TestConsole> {
  return aConsole({ policy: aTwoTenantPolicy({ routes: [route] }) });
}

async function endRun(test: TestConsole, answer: Decided): Promise<void> {
  const { runId, taskId, receiptId } = answer;
  if (runId === null || taskId === null) throw new Error(answer.message);
  const [row] = await test.store.service.use((c) =>
    c.query<{ key: string; version: string }>(
      'select k.work_key as key, r.input_version as version from headgate.run r join headgate.task k on k.id = r.task_id where r.id = $1',
      [runId],
    ),
  );
  const run = {
    runId,
    taskId,
    receiptId,
    tenant: test.tenant,
    workKey: row?.key ?? '',
    inputVersion: row?.version ?? '',
  };
  const lease = await claimRun(test.store, run);
  await finishRun(test.store, lease, {
    kind: 'failed',
    reasonCode: 'SETUP_FAILED',
    detail: null,
    retryAfterMs: null,
  });
}

describe('POST /v1/receipts/{id}/replay: the same signal once more', () => {
  it('I8: a version that was admitted gets a receipt of its own, which says so and runs nothing twice', async () => {
    const test = await consoleWith();
    const first = await received(test, 'a');
    expect(first.reasonCode).toBe('ADMITTED');
    const shown = formatId('rcpt', first.receiptId);

    const answer = await accepted(replay(test, shown, { nonce: 'monday' }));
    expect(answer).toMatchObject({
      outcome: 'reject',
      reasonCode: 'DUPLICATE_WORK',
      existing: true,
      runId: formatId('run', first.runId ?? ('' as never)),
    });
    const receipt = await test.json<Receipt>(`/v1/receipts/${answer.receiptId}`);
    expect(receipt).toMatchObject({
      parentReceiptId: shown,
      replayedBy: 'token:operator',
      via: 'api',
      trigger: 'event',
      delivery: {
        source: 'acme',
        type: 'github.check_run.completed',
        eventId: `replay/${shown}/signal/monday`,
      },
    });
    // The same nonce: the same receipt. Another: another one.
    expect((await accepted(replay(test, shown, { nonce: 'monday' }))).receiptId).toBe(answer.receiptId);
    expect((await accepted(replay(test, shown, { nonce: 'tuesday' }))).receiptId).not.toBe(answer.receiptId);
    expect((await accepted(replay(test, shown))).reasonCode).toBe('DUPLICATE_WORK');
  });

  it('I17: what no route took is decided by the rules of today, and why tells who replayed it', async () => {
    const test = await consoleWith(DEAF);
    const missed = await received(test, 'b');
    expect(missed.reasonCode).toBe('NO_ROUTE');
    await activate(test, LISTENING);
    const shown = formatId('rcpt', missed.receiptId);
    const answer = await accepted(replay(test, shown));
    expect(answer).toMatchObject({ outcome: 'accept', reasonCode: 'ADMITTED', existing: false });
    const why = await test.json<Explanation>(`/v1/explain?ref=${encodeURIComponent('1/b')}`);
    const decisions = why.steps.filter(({ type }) => type === 'receipt.decision');
    expect(decisions.map(({ reasonCode, actor }) => [reasonCode, actor])).toEqual([
      ['NO_ROUTE', expect.stringContaining('user:')],
      ['ADMITTED', 'token:operator'],
    ]);
    expect(decisions[1]?.message).toContain('replayed by token:operator');
  });

  it('a replay of a replay finds the payload beside the first receipt, and so does one of a repeated delivery', async () => {
    const test = await consoleWith();
    await received(test, 'c');
    const repeat = await received(test, 'c');
    expect(repeat.reasonCode).toBe('DUPLICATE_DELIVERY');
    const once = await accepted(replay(test, formatId('rcpt', repeat.receiptId)));
    const twice = await accepted(replay(test, once.receiptId));
    expect([once.reasonCode, twice.reasonCode]).toEqual(['DUPLICATE_WORK', 'DUPLICATE_WORK']);
    expect((await test.json<Receipt>(`/v1/receipts/${twice.receiptId}`)).parentReceiptId).toBe(
      once.receiptId,
    );
  });
});

describe('POST /v1/receipts/{id}/replay: as new work', () => {
  it('I8: makes a new generation of the same version, and one run of many requests at once', async () => {
    const test = await consoleWith();
    const first = await received(test, 'd');
    await endRun(test, first);
    const shown = formatId('rcpt', first.receiptId);
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => accepted(replay(test, shown, { as: 'newWork' }))),
    );
    expect(new Set(answers.map(({ receiptId }) => receiptId)).size).toBe(1);
    const [answer] = answers;
    const run = await test.json<RunDetail>(`/v1/runs/${answer?.runId}`);
    const before = await test.json<RunDetail>(`/v1/runs/${formatId('run', first.runId ?? ('' as never))}`);
    expect(run).toMatchObject({
      generation: 2,
      status: 'QUEUED',
      workKey: before.workKey,
      inputVersion: before.inputVersion,
    });
    expect(run.events[0]).toMatchObject({ type: 'run.admitted', actor: 'token:operator' });
    // While it lives it is the answer.
    expect(await accepted(replay(test, shown, { as: 'newWork' }))).toEqual(answer);
  });

  it('is refused while a run lives, with the receipt that says so; or ends that one first', async () => {
    const test = await consoleWith();
    const first = await received(test, 'e');
    const shown = formatId('rcpt', first.receiptId);
    const conflict = await refused(replay(test, shown, { as: 'newWork' }));
    expect(conflict).toMatchObject({ status: 409, code: 'WORK_IN_PROGRESS' });
    expect(await test.json(`/v1/receipts/${conflict.receiptId}`)).toMatchObject({
      parentReceiptId: shown,
      replayedBy: 'token:operator',
    });
    const answer = await accepted(replay(test, shown, { as: 'newWork', cancelLive: true }));
    expect(answer.reasonCode).toBe('ADMITTED');
    expect(await test.json(`/v1/runs/${formatId('run', first.runId ?? ('' as never))}`)).toMatchObject({
      status: 'CANCELLED',
    });
  });
});

describe('POST /v1/receipts/{id}/replay: refusals', () => {
  it('says so when retention has taken the payload', async () => {
    const test = await consoleWith();
    const first = await received(test, 'f');
    await test.store.service.use((c) =>
      c.query('delete from headgate.payload where receipt_id = $1', [first.receiptId]),
    );
    expect(await refused(replay(test, formatId('rcpt', first.receiptId)))).toMatchObject({
      status: 410,
      code: 'PAYLOAD_GONE',
      detail: expect.stringContaining('retention.payloads'),
    });
  });

  it('names what to do with a receipt that is no message of a source', async () => {
    const test = await consoleWith(aRoute({ ...LISTENING, on: [{ kind: 'manual' }] }));
    const asked = await deliver(test, {
      trigger: 'manual',
      type: 'manual',
      source: 'api',
      via: 'api',
      data: { route: LISTENING.id },
    });
    expect(await refused(replay(test, formatId('rcpt', asked.receiptId)))).toMatchObject({
      status: 409,
      code: 'WRONG_STATE',
      detail: expect.stringContaining('POST /v1/work'),
    });
    await endRun(test, asked);
    const closing = (await test.json<{ items: Receipt[] }>('/v1/receipts?kind=closing')).items[0];
    expect(await refused(replay(test, closing?.id ?? ''))).toMatchObject({
      status: 409,
      detail: expect.stringContaining(formatId('rcpt', asked.receiptId)),
    });
  });

  it('needs an operator of the receipt’s tenant, and a body that it understands', async () => {
    const test = await consoleWith();
    const shown = formatId('rcpt', (await received(test, 'g')).receiptId);
    expect((await replay(test, shown, {}, test.tokens.viewer)).status).toBe(403);
    expect((await replay(test, shown, {}, test.tokens.other)).status).toBe(404);
    expect((await replay(test, 'rcpt_nonsense')).status).toBe(404);
    for (const body of [
      { as: 'work' },
      { nonce: 'a/b' },
      { nonce: '' },
      { cancelLive: true },
      { reason: 'x' },
    ]) {
      expect((await replay(test, shown, body)).status).toBe(400);
    }
  });
});

async function activate(test: TestConsole, route: typeof LISTENING): Promise<void> {
  await policies.activate(test.context.database.service, aTwoTenantPolicy({ routes: [route] }), 'test');
  await test.context.policy.refresh();
}
