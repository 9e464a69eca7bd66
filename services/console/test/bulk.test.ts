import { formatId, systemIds } from '@headgate/domain';
import type { BulkAnswer, Problem, RunDetail } from '@headgate/sdk';
import { runInStatus, type SeededRun, seedRun, seedRuns } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { aConsole, type TestConsole } from './a-console.js';
import { admitted } from './seeds.js';

const ask = (test: TestConsole, body: unknown, token = test.tokens.operator) =>
  test.ask('/v1/runs:bulk', { method: 'POST', body, token });
const answered = async (response: Promise<Response>): Promise<BulkAnswer> => {
  const answer = await response;
  const text = await answer.text();
  expect(answer.status, text).toBe(202);
  return JSON.parse(text) as BulkAnswer;
};
const problemOf = async (response: Promise<Response>): Promise<Problem> =>
  (await response).json() as Promise<Problem>;
const idOf = (run: SeededRun) => formatId('run', run.runId);
const statusOf = async (test: TestConsole, run: SeededRun) =>
  (await test.json<RunDetail>(`/v1/runs/${idOf(run)}`)).status;
const outcomes = (answer: BulkAnswer) =>
  Object.fromEntries(answer.runs.map((run) => [run.runId, run.outcome]));

const cancelling = { action: 'cancel', filter: { route: 'fix-failing-check' } } as const;

describe('cancel of many runs', () => {
  it('a dry run changes nothing and shows what can be cancelled; its token does that, and each run says who did it', async () => {
    const test = await aConsole();
    const { tenant } = test;
    const waiting = await seedRun(test.store, { tenant });
    const running = await runInStatus(test.store, 'RUNNING', { tenant });
    const ended = await runInStatus(test.store, 'SUCCEEDED', { tenant });
    const elsewhere = await seedRun(test.store, { tenant, spec: { route: 'tidy' } });

    const preview = await answered(ask(test, { ...cancelling, dryRun: true }));
    expect(preview).toMatchObject({ dryRun: true, count: 2, more: false });
    expect(outcomes(preview)).toEqual({ [idOf(waiting)]: 'possible', [idOf(running)]: 'possible' });
    expect(await statusOf(test, waiting)).toBe('QUEUED');

    const { token } = preview;
    const done = await answered(ask(test, { ...cancelling, dryRun: false, token, reason: 'incident 7' }));
    expect(done).toMatchObject({ dryRun: false, count: 2, token: null });
    expect(outcomes(done)).toEqual({ [idOf(waiting)]: 'done', [idOf(running)]: 'requested' });
    const told = await test.json<RunDetail>(`/v1/runs/${idOf(waiting)}`);
    expect(told.events.at(-1)).toMatchObject({ to: 'CANCELLED', actor: 'token:operator' });
    expect(await statusOf(test, ended)).toBe('SUCCEEDED');
    expect(await statusOf(test, elsewhere)).toBe('QUEUED');
  });

  it('acts on the runs that are named, and on no other', async () => {
    const test = await aConsole();
    const { tenant } = test;
    const named = await runInStatus(test.store, 'QUEUED', { tenant });
    const ended = await runInStatus(test.store, 'SUCCEEDED', { tenant });
    const other = await seedRun(test.store, { tenant });
    // As many as a page can name at once.
    const none = Array.from({ length: 198 }, () => formatId('run', systemIds.next('run')));
    const filter = { ids: [idOf(named), idOf(ended), ...none].join(',') };
    const { token, count } = await answered(ask(test, { action: 'cancel', filter, dryRun: true }));
    expect(count).toBe(1);
    const done = await answered(ask(test, { action: 'cancel', filter, dryRun: false, token }));
    expect(outcomes(done)).toEqual({ [idOf(named)]: 'done' });
    expect(await statusOf(test, other)).toBe('QUEUED');
  });

  it('touches nothing that the dry run has not shown, and leaves alone what has moved on since', async () => {
    const test = await aConsole();
    const { tenant } = test;
    const [stays, moves] = [await seedRun(test.store, { tenant }), await seedRun(test.store, { tenant })];
    const filtered = { action: 'cancel', filter: { status: 'QUEUED' } } as const;
    const { token } = await answered(ask(test, { ...filtered, dryRun: true }));
    const late = await seedRun(test.store, { tenant });
    await test.ask(`/v1/runs/${idOf(moves)}/cancel`, { method: 'POST', body: {} });

    const done = await answered(ask(test, { ...filtered, dryRun: false, token }));
    expect(outcomes(done)).toEqual({ [idOf(stays)]: 'done', [idOf(moves)]: 'skipped' });
    expect(done.count).toBe(1);
    expect(await statusOf(test, late)).toBe('QUEUED');
    const again = await answered(ask(test, { ...filtered, dryRun: false, token }));
    expect(again.count).toBe(0);
    expect(new Set(Object.values(outcomes(again)))).toEqual(new Set(['skipped']));
  });

  it('takes 200 at a time, the newest first, and says that there are more', async () => {
    const test = await aConsole();
    const runs = await seedRuns(test.store, 203, { tenant: test.tenant });
    const preview = await answered(ask(test, { ...cancelling, dryRun: true }));
    expect(preview).toMatchObject({ count: 200, more: true });
    const newest = runs.map(idOf).sort().reverse().slice(0, 200);
    expect(preview.runs.map((run) => run.runId)).toEqual(newest);
  });
});

describe('replay of many runs', () => {
  it('makes a new run of each that has ended, refuses those whose work is under way, and repeats nothing', async () => {
    const test = await aConsole();
    const first = await admitted(test);
    await test.ask(`/v1/runs/${idOf(first)}/cancel`, { method: 'POST', body: {} });
    const request = { action: 'replay', filter: { publicStatus: 'cancelled' } } as const;
    const { token, count } = await answered(ask(test, { ...request, dryRun: true }));
    expect(count).toBe(1);
    const done = await answered(ask(test, { ...request, dryRun: false, token }));
    expect(done.runs).toMatchObject([{ runId: idOf(first), outcome: 'done', newRunId: expect.any(String) }]);
    const again = await answered(ask(test, { ...request, dryRun: false, token }));
    expect(again.runs[0]?.newRunId).toBe(done.runs[0]?.newRunId);
  });

  it('a route that is gone refuses that run with its reason, and the others are done', async () => {
    const test = await aConsole();
    const { tenant } = test;
    const good = await admitted(test);
    await test.ask(`/v1/runs/${idOf(good)}/cancel`, { method: 'POST', body: {} });
    const gone = await runInStatus(test.store, 'CANCELLED', { tenant, spec: { route: 'gone' } });
    const request = { action: 'replay', filter: { status: 'CANCELLED' } } as const;
    const { token } = await answered(ask(test, { ...request, dryRun: true }));
    const done = await answered(ask(test, { ...request, dryRun: false, token }));
    expect(outcomes(done)).toEqual({ [idOf(good)]: 'done', [idOf(gone)]: 'refused' });
    expect(done.runs.find((run) => run.runId === idOf(gone))).toMatchObject({ code: 'NO_ROUTE' });
  });
});

describe('what is refused', () => {
  it('no filter, no token, a token of another question, a name that is none', async () => {
    const test = await aConsole();
    await seedRun(test.store, { tenant: test.tenant });
    const { token } = await answered(ask(test, { ...cancelling, dryRun: true }));
    for (const [body, words] of [
      [{ action: 'cancel', filter: {}, dryRun: true }, 'at least one filter'],
      [{ ...cancelling, filter: { colour: 'red' }, dryRun: true }, 'colour'],
      [{ ...cancelling, dryRun: false }, 'dryRun true first'],
      [{ ...cancelling, dryRun: false, token: 'x' }, 'not one of a dry run'],
      [{ ...cancelling, filter: { route: 'tidy' }, dryRun: false, token }, 'another action or filter'],
      [{ ...cancelling, action: 'delete', dryRun: true }, 'action'],
      [cancelling, 'dryRun'],
    ] as const) {
      expect(await problemOf(ask(test, body))).toMatchObject({
        status: 400,
        detail: expect.stringContaining(words),
      });
    }
  });

  it('viewers may not, and a tenant’s token neither sees nor touches another’s runs, whatever its token names', async () => {
    const test = await aConsole();
    const theirs = await seedRun(test.store, { tenant: test.other });
    const { token } = await answered(ask(test, { ...cancelling, dryRun: true }));
    expect((await ask(test, { ...cancelling, dryRun: true }, test.tokens.viewer)).status).toBe(403);
    const seen = await answered(ask(test, { ...cancelling, dryRun: true }, test.tokens.tenant));
    expect(seen.runs).toEqual([]);
    const done = await answered(ask(test, { ...cancelling, dryRun: false, token }, test.tokens.tenant));
    expect(done).toMatchObject({ count: 0, runs: [{ outcome: 'skipped', status: null }] });
    expect(await statusOf(test, theirs)).toBe('QUEUED');
  });
});
