import { formatId } from '@headgate/domain';
import type { ListedApproval, Page, Problem, RunAction, RunDetail, RunResult } from '@headgate/sdk';
import { approvals } from '@headgate/store';
import { claimRun, finishRun, needsApproval, proposedRun, type SeededRun, seedRun } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { aConsole, type TestConsole } from './a-console.js';

const pathOf = (run: SeededRun, word = '') => `/v1/runs/${formatId('run', run.runId)}${word}`;
const say = (test: TestConsole, run: SeededRun, word: string, body: unknown = {}, token?: string) =>
  test.ask(pathOf(run, `/${word}`), { method: 'POST', body, token: token ?? test.tokens.approver });
const accepted = async (response: Promise<Response>): Promise<RunDetail> => {
  const answered = await response;
  const text = await answered.text();
  expect(answered.status, text).toBe(202);
  return JSON.parse(text) as RunDetail;
};
const refused = async (response: Promise<Response>): Promise<Problem> =>
  (await response).json() as Promise<Problem>;
const namesOf = (actions: readonly RunAction[]) => actions.map((action) => action.name);

describe('a sealed result that waits for a person', () => {
  it('says what would be done, who can let it, and until when', async () => {
    const test = await aConsole();
    const run = await proposedRun(test.store, { tenant: test.tenant });
    const detail = await test.json<RunDetail>(pathOf(run));
    expect(detail).toMatchObject({
      status: 'WAITING_APPROVAL',
      publicStatus: 'waiting',
      approval: {
        id: expect.stringMatching(/^apr_/),
        subject: 'proposal',
        resultSha256: run.resultSha256,
        operations: [{ kind: 'push', repository: 'acme/api', expectedOldSha: null }],
        outcome: null,
      },
      waiting: {
        reasonCode: 'APPROVAL_REQUIRED',
        until: detail.approval?.expiresAt,
        wouldStartWhen: expect.stringContaining('role approver or admin publishes it'),
      },
    });
    expect(namesOf(detail.actions)).toEqual(['publish', 'discard', 'cancel']);
    const result = await test.json<RunResult>(pathOf(run, '/result'));
    expect(result.sha256).toBe(run.resultSha256);
    const [listed] = (await test.json<{ items: RunDetail[] }>('/v1/runs?waitingReason=APPROVAL_REQUIRED'))
      .items;
    expect(listed?.waiting).toEqual({ ...detail.waiting, numbers: { leftMs: expect.any(Number) } });
  });

  it('is in the list of requests, with its run, until it is answered; of other tenants nothing', async () => {
    const test = await aConsole();
    const first = await proposedRun(test.store, { tenant: test.tenant });
    const second = await proposedRun(test.store, { tenant: test.tenant });
    await proposedRun(test.store, { tenant: test.other });
    const listed = (query: string) =>
      test.json<Page<ListedApproval>>(`/v1/approvals${query}`, { token: test.tokens.tenant });
    const runs = ({ items }: Page<ListedApproval>) => items.map(({ runId }) => runId);
    const [a, b] = [formatId('run', first.runId), formatId('run', second.runId)];

    expect(runs(await listed('?open=true'))).toEqual([b, a]);
    const all = await test.json<Page<ListedApproval>>('/v1/approvals?open=true');
    expect(runs(all)).toHaveLength(3);
    await accepted(say(test, first, 'publish', { reason: 'reads well' }));
    expect(runs(await listed('?open=true'))).toEqual([b]);
    const [answered, ...others] = (await listed('?open=false')).items;
    expect(others).toEqual([]);
    const { approval } = await test.json<RunDetail>(pathOf(first));
    expect(answered).toEqual({
      ...approval,
      runId: a,
      taskId: formatId('task', first.taskId),
      tenant: test.tenant.key,
      route: expect.any(String),
      repository: expect.anything(),
      workKey: first.workKey,
    });
    const page = await listed('?limit=1');
    expect(runs(page)).toEqual([b]);
    expect(runs(await listed(`?limit=1&cursor=${page.nextCursor}`))).toEqual([a]);
  });

  it('publish: 202 with the run in the queue, the same when repeated, and told with its actor', async () => {
    const test = await aConsole();
    const run = await proposedRun(test.store, { tenant: test.tenant });
    const published = await accepted(say(test, run, 'publish', { reason: 'reads well' }));
    expect(published).toMatchObject({
      status: 'QUEUED',
      reasonCode: 'APPROVED',
      approval: { outcome: 'approved', decidedBy: 'token:approver', reason: 'reads well' },
    });
    expect(published.events.at(-1)).toMatchObject({
      from: 'WAITING_APPROVAL',
      to: 'QUEUED',
      actor: 'token:approver',
      reasonCode: 'APPROVED',
    });
    const again = await accepted(say(test, run, 'publish'));
    expect(again.events).toEqual(published.events);
    expect(await refused(say(test, run, 'discard'))).toMatchObject({ status: 409, code: 'WRONG_STATE' });
    expect(await refused(say(test, run, 'approve'))).toMatchObject({
      status: 409,
      detail: expect.stringContaining('publish or discard'),
    });
    const why = await test.json<{ steps: { message: string }[] }>(
      `/v1/explain?ref=${formatId('run', run.runId)}`,
    );
    expect(why.steps.map((step) => step.message).join('\n')).toContain('Given reason: "reads well".');
  });

  it('discard: CANCELLED with its own reason, and what it sealed stays readable', async () => {
    const test = await aConsole();
    const run = await proposedRun(test.store, { tenant: test.tenant });
    const discarded = await accepted(say(test, run, 'discard'));
    expect(discarded).toMatchObject({ status: 'CANCELLED', reasonCode: 'PROPOSAL_DISCARDED' });
    expect(namesOf(discarded.actions)).toEqual(['retry']);
    expect((await accepted(say(test, run, 'discard'))).events).toEqual(discarded.events);
    expect(await test.json<RunResult>(pathOf(run, '/result'))).toMatchObject({ verdict: 'changes' });
    expect(await refused(say(test, run, 'publish'))).toMatchObject({ status: 409, code: 'WRONG_STATE' });
  });

  it('a word for a request that was read is not taken for the one that came after it', async () => {
    const test = await aConsole();
    const run = await proposedRun(test.store, { tenant: test.tenant });
    const { approval } = await test.json<RunDetail>(pathOf(run));
    const body = { approvalId: approval?.id };
    await accepted(say(test, run, 'publish', body));
    await finishRun(test.store, await claimRun(test.store, run), needsApproval({ policyVersion: 9 }));
    expect(await accepted(say(test, run, 'publish', body))).toMatchObject({ status: 'WAITING_APPROVAL' });
    const { approval: newer } = await test.json<RunDetail>(pathOf(run));
    expect(newer).toMatchObject({ policyVersion: 9, outcome: null });
    await accepted(say(test, run, 'publish', { approvalId: newer?.id }));
  });

  it('one that nobody answered in time is refused with what to do, before anybody has ended it', async () => {
    const test = await aConsole();
    const run = await proposedRun(test.store, { tenant: test.tenant });
    await test.store.service.use((c) =>
      c.query('update headgate.approval set expires_at = clock_timestamp()'),
    );
    expect(await refused(say(test, run, 'publish'))).toMatchObject({
      status: 409,
      code: 'APPROVAL_EXPIRED',
      detail: expect.stringContaining('Retry the run'),
    });
  });

  it('a mistaken request is told what it should be', async () => {
    const test = await aConsole();
    const run = await proposedRun(test.store, { tenant: test.tenant });
    expect(await refused(say(test, run, 'publish', { approvalId: 'x' }))).toMatchObject({
      status: 400,
      detail: expect.stringContaining('apr_'),
    });
    expect(await refused(say(test, run, 'publish', { because: 'x' }))).toMatchObject({
      status: 400,
      detail: expect.stringContaining('because'),
    });
    const queued = await seedRun(test.store, { tenant: test.tenant });
    expect(await refused(say(test, queued, 'publish'))).toMatchObject({
      status: 409,
      detail: expect.stringContaining('QUEUED'),
    });
    expect((await test.ask('/v1/runs/run_x/publish', { method: 'POST', body: {} })).status).toBe(404);
  });
});

describe('work that waits for a person before its agent starts', () => {
  it('approve puts it into the queue, decline ends it', async () => {
    const test = await aConsole();
    const asked = () => seedRun(test.store, { tenant: test.tenant, status: 'WAITING_APPROVAL' });
    const [wanted, unwanted] = [await asked(), await asked()];
    expect(namesOf((await test.json<RunDetail>(pathOf(wanted))).actions)).toEqual([
      'approve',
      'decline',
      'cancel',
    ]);
    expect(await accepted(say(test, wanted, 'approve'))).toMatchObject({ status: 'QUEUED' });
    expect(await accepted(say(test, unwanted, 'decline'))).toMatchObject({
      status: 'POLICY_DENIED',
      publicStatus: 'skipped',
      reasonCode: 'APPROVAL_DECLINED',
    });
  });

  it('four eyes: the requester’s own consent is refused with 403, and another’s is taken', async () => {
    const test = await aConsole();
    const run = await seedRun(test.store, {
      tenant: test.tenant,
      status: 'WAITING_APPROVAL',
      fourEyes: true,
    });
    await test.store.service.use((c) => c.query("update headgate.approval set requester = 'token:approver'"));
    const { actions, waiting } = await test.json<RunDetail>(pathOf(run), { token: test.tokens.approver });
    expect(waiting?.wouldStartWhen).toContain('but not token:approver');
    expect(actions).toMatchObject([
      { name: 'approve', allowed: false, why: expect.stringContaining('second person') },
      { name: 'decline', allowed: true },
      { name: 'cancel', allowed: true },
    ]);
    expect(await refused(say(test, run, 'approve'))).toMatchObject({ status: 403, code: 'FOUR_EYES' });
    await accepted(say(test, run, 'approve', {}, test.tokens.admin));
  });
});

describe('who may say it', () => {
  it('approvers and admins; others are told which role it needs, and see so in the run’s actions', async () => {
    const test = await aConsole();
    const run = await proposedRun(test.store, { tenant: test.tenant });
    for (const role of ['viewer', 'operator'] as const) {
      for (const word of ['publish', 'discard', 'approve', 'decline']) {
        expect(await refused(say(test, run, word, {}, test.tokens[role]))).toMatchObject({
          status: 403,
          code: 'FORBIDDEN',
          detail: expect.stringContaining('approver'),
        });
      }
      const { actions } = await test.json<RunDetail>(pathOf(run), { token: test.tokens[role] });
      expect(actions[0]).toMatchObject({ name: 'publish', role: 'approver', allowed: false });
    }
    expect(await test.store.service.use((c) => approvals.of(c, run.runId))).toMatchObject({ outcome: null });
  });

  it('no other tenant: for it the run is not there', async () => {
    const test = await aConsole();
    const run = await proposedRun(test.store, { tenant: test.other });
    for (const word of ['publish', 'discard', 'approve', 'decline']) {
      expect((await say(test, run, word, {}, test.tokens.tenant)).status).toBe(404);
    }
    expect(await test.store.service.use((c) => approvals.of(c, run.runId))).toMatchObject({ outcome: null });
    expect((await accepted(say(test, run, 'publish', {}, test.tokens.other))).status).toBe('QUEUED');
  });
});
