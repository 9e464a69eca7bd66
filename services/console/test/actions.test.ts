import { formatId } from '@headgate/domain';
import type { Problem, RunDetail, SignalAnswer, TaskDetail } from '@headgate/sdk';
import { leases } from '@headgate/store';
import { aRoute, claimRun, finishRun, runInStatus, seedRun } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { aConsole, aTwoTenantPolicy, type TestConsole } from './a-console.js';
import { admitted, deliver } from './seeds.js';

const post = (test: TestConsole, path: string, body: unknown = {}, token = test.tokens.operator) =>
  test.ask(path, { method: 'POST', body, token });
const accepted = async <T>(response: Promise<Response>): Promise<T> => {
  const answered = await response;
  const text = await answered.text();
  if (answered.status !== 202) throw new Error(`${answered.status}: ${text}`);
  return JSON.parse(text) as T;
};
const refused = async (response: Promise<Response>): Promise<Problem> =>
  (await response).json() as Promise<Problem>;

describe('POST /v1/runs/{id}/cancel', () => {
  it('Q5: ends a waiting run at once, and says the same when asked again', async () => {
    const test = await aConsole();
    const run = await seedRun(test.store, { tenant: test.tenant });
    const path = `/v1/runs/${formatId('run', run.runId)}/cancel`;
    const first = await accepted<RunDetail>(post(test, path, { reason: 'not needed' }));
    expect(first).toMatchObject({
      status: 'CANCELLED',
      publicStatus: 'cancelled',
      reasonCode: 'CANCELLED_BY_USER',
    });
    expect(first.events.slice(-3).map((event) => [event.to, event.actor])).toEqual([
      ['CANCEL_REQUESTED', 'token:operator'],
      ['CANCELLING', 'token:operator'],
      ['CANCELLED', 'token:operator'],
    ]);
    expect(await accepted<RunDetail>(post(test, path))).toEqual(first);
  });

  it('Q5: asks the worker of a running one to stop; the heartbeat carries it', async () => {
    const test = await aConsole();
    const run = await runInStatus(test.store, 'RUNNING', { tenant: test.tenant });
    const path = `/v1/runs/${formatId('run', run.runId)}/cancel`;
    const asked = await accepted<RunDetail>(post(test, path));
    expect(asked).toMatchObject({ status: 'CANCEL_REQUESTED', publicStatus: 'running' });
    expect((await accepted<RunDetail>(post(test, path))).events).toHaveLength(asked.events.length);
    const { lease } = run;
    if (lease === null) throw new Error('no lease');
    const beat = await test.store.reserved.use((c) => leases.beat(c, [lease.fence], lease.workerId, 60_000));
    expect(beat.leases.get(run.runId)).toMatchObject({ control: 'cancel' });
  });

  it('Q5: refuses what has ended otherwise, and an action that it does not understand', async () => {
    const test = await aConsole();
    const run = await runInStatus(test.store, 'SUCCEEDED', { tenant: test.tenant });
    const path = `/v1/runs/${formatId('run', run.runId)}/cancel`;
    expect(await refused(post(test, path))).toMatchObject({
      status: 409,
      code: 'WRONG_STATE',
      detail: expect.stringContaining('SUCCEEDED'),
    });
    expect(await refused(post(test, path, { reasons: 'x' }))).toMatchObject({
      status: 400,
      detail: expect.stringContaining('reasons'),
    });
    expect((await post(test, path, '{"reason":')).status).toBe(400);
    expect((await post(test, path, JSON.stringify({ reason: 'x'.repeat(2_000_000) }))).status).toBe(413);
    expect((await post(test, path, '[]')).status).toBe(400);
  });
});

describe('POST /v1/runs/{id}/retry', () => {
  it('runs the same version again as a new generation, and answers repeats with the first answer', async () => {
    const test = await aConsole();
    const run = await admitted(test);
    const lease = await claimRun(test.store, run);
    await finishRun(test.store, lease, {
      kind: 'failed',
      reasonCode: 'SETUP_FAILED',
      detail: null,
      retryAfterMs: null,
    });
    const path = `/v1/runs/${formatId('run', run.runId)}/retry`;
    const first = await accepted<SignalAnswer>(post(test, path, { reason: 'npm was down' }));
    expect(first).toMatchObject({
      outcome: 'accept',
      reasonCode: 'ADMITTED',
      taskId: formatId('task', run.taskId),
      existing: false,
    });
    expect(first.runId).not.toBe(formatId('run', run.runId));
    expect(await accepted(post(test, path))).toEqual(first);
    expect(await accepted(post(test, path, { cancelLive: true }))).toEqual(first);

    const again = await test.json<RunDetail>(`/v1/runs/${first.runId}`);
    const before = await test.json<RunDetail>(`/v1/runs/${formatId('run', run.runId)}`);
    expect(again).toMatchObject({
      generation: 2,
      status: 'QUEUED',
      inputVersion: before.inputVersion,
      workKey: before.workKey,
      route: before.route,
      repository: before.repository,
      concurrencyKey: before.concurrencyKey,
    });
    expect(before.status).toBe('FAILED');
    const receipt = await test.json<{ rule: string; trigger: string }>(`/v1/receipts/${first.receiptId}`);
    expect(receipt).toMatchObject({ rule: 'directive.retry', trigger: 'manual', via: 'api' });
  });

  it('makes one run of many requests at once', async () => {
    const test = await aConsole();
    const run = await admitted(test);
    const lease = await claimRun(test.store, run);
    await finishRun(test.store, lease, {
      kind: 'failed',
      reasonCode: 'SETUP_FAILED',
      detail: null,
      retryAfterMs: null,
    });
    const path = `/v1/runs/${formatId('run', run.runId)}/retry`;
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => accepted<SignalAnswer>(post(test, path))),
    );
    expect(new Set(answers.map((answer) => answer.runId)).size).toBe(1);
    expect(new Set(answers.map((answer) => answer.receiptId)).size).toBe(1);
    const task = await test.json<TaskDetail>(`/v1/tasks/${formatId('task', run.taskId)}`);
    expect(task.runs).toHaveLength(2);
  });

  it('refuses while the run lives, with the receipt that says so; then does it, or cancels the live one first', async () => {
    const test = await aConsole();
    const run = await admitted(test);
    const path = `/v1/runs/${formatId('run', run.runId)}/retry`;
    const conflict = await refused(post(test, path));
    expect(conflict).toMatchObject({ status: 409, code: 'WORK_IN_PROGRESS' });
    expect(await test.json(`/v1/receipts/${conflict.receiptId}`)).toMatchObject({
      outcome: 'reject',
      reasonCode: 'WORK_IN_PROGRESS',
    });
    const answer = await accepted<SignalAnswer>(post(test, path, { cancelLive: true }));
    expect(answer.runId).not.toBe(formatId('run', run.runId));
    const old = await test.json<RunDetail>(`/v1/runs/${formatId('run', run.runId)}`);
    expect(old).toMatchObject({ status: 'CANCELLED', reasonCode: 'CANCELLED_BY_USER' });
  });

  it('does not ask the condition again, nor whether the route can be started by hand', async () => {
    const route = aRoute({
      on: [{ kind: 'event', type: 'github.check_run.completed' }],
      when: { source: 'event.check_run.conclusion == "failure"' },
      concurrency: { key: '{{ event.check_run.name }}', limit: 2 },
    });
    const test = await aConsole({ policy: aTwoTenantPolicy({ routes: [route] }) });
    const run = await admitted(test, { data: { check_run: { conclusion: 'failure', name: 'unit' } } });
    const lease = await claimRun(test.store, run);
    await finishRun(test.store, lease, {
      kind: 'failed',
      reasonCode: 'SETUP_FAILED',
      detail: null,
      retryAfterMs: null,
    });
    const answer = await accepted<SignalAnswer>(post(test, `/v1/runs/${formatId('run', run.runId)}/retry`));
    expect(await test.json(`/v1/runs/${answer.runId}`)).toMatchObject({ concurrencyKey: 'unit' });
    const [item] = await test.store.service.use((c) =>
      c.query<{ limit: number }>('select concurrency_limit as limit from headgate.queue_item'),
    );
    expect(item?.limit).toBe(2);
  });

  it('says so when the route is gone', async () => {
    const test = await aConsole();
    const run = await runInStatus(test.store, 'FAILED', { tenant: test.tenant, spec: { route: 'gone' } });
    expect(await refused(post(test, `/v1/runs/${formatId('run', run.runId)}/retry`))).toMatchObject({
      status: 404,
      code: 'NO_ROUTE',
      detail: expect.stringContaining('gone'),
      receiptId: expect.stringMatching(/^rcpt_/),
    });
  });
});

describe('tasks', () => {
  it('Q5: a cancelled task ends its runs and refuses its signals until it is reset', async () => {
    const test = await aConsole();
    const run = await admitted(test);
    const task = `/v1/tasks/${formatId('task', run.taskId)}`;
    const cancelled = await accepted<TaskDetail>(post(test, `${task}/cancel`, { reason: 'enough' }));
    expect(cancelled).toMatchObject({ cancelledBy: 'token:operator', latestRun: { status: 'CANCELLED' } });
    expect(await accepted(post(test, `${task}/cancel`))).toEqual(cancelled);
    expect(await deliver(test, { inputVersion: 'b'.repeat(40) })).toMatchObject({
      reasonCode: 'TASK_CANCELLED',
    });

    const reset = await accepted<SignalAnswer>(post(test, `${task}/reset`));
    expect(reset).toMatchObject({ outcome: 'accept', reasonCode: 'ADMITTED' });
    expect(await accepted(post(test, `${task}/reset`))).toEqual(reset);
    const after = await test.json<TaskDetail>(task);
    expect(after).toMatchObject({ cancelledAt: null, generation: 2, publication: 2 });
    expect(after.runs.map((one) => one.status)).toEqual(['QUEUED', 'CANCELLED']);
    expect(after.signals.length).toBeGreaterThanOrEqual(3);
  });

  it('a reset needs the live run gone, and may ask for it', async () => {
    const test = await aConsole();
    const run = await admitted(test);
    const path = `/v1/tasks/${formatId('task', run.taskId)}/reset`;
    expect(await refused(post(test, path))).toMatchObject({ status: 409, code: 'WORK_IN_PROGRESS' });
    const answer = await accepted<SignalAnswer>(post(test, path, { cancelLive: true }));
    expect(answer.runId).not.toBe(formatId('run', run.runId));
  });
});
