import { formatId } from '@headgate/domain';
import type { Page, Run, RunDetail } from '@headgate/sdk';
import { claimRun, finishRun, runInStatus, seedRun, seedWorker } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { aConsole, aTwoTenantPolicy } from './a-console.js';

const idOf = (run: { runId: Parameters<typeof formatId<'run'>>[1] }): string => formatId('run', run.runId);

describe('GET /v1/runs', () => {
  it('answers runs newest first, page by page, without one twice or left out', async () => {
    const test = await aConsole();
    const made: string[] = [];
    for (let n = 0; n < 7; n += 1) made.push(idOf(await seedRun(test.store, { tenant: test.tenant })));
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Page<Run> = await test.json(
        `/v1/runs?limit=3${cursor === null ? '' : `&cursor=${cursor}`}`,
      );
      seen.push(...page.items.map((run) => run.id));
      cursor = page.nextCursor;
      // What arrives while somebody pages stands before the first page.
      await seedRun(test.store, { tenant: test.tenant });
    } while (cursor !== null);
    expect(seen).toEqual(made.toReversed());
  });

  it('filters by every name, and finds what stands behind thousands that do not match', async () => {
    const test = await aConsole();
    const wanted = await runInStatus(test.store, 'FAILED', {
      tenant: test.tenant,
      workKey: 'needle',
      spec: { route: 'rare' },
    });
    for (let n = 0; n < 9; n += 1) await seedRun(test.store, { tenant: test.tenant });
    const id = idOf(wanted);
    const found = async (query: string): Promise<string[]> =>
      (await test.json<Page<Run>>(`/v1/runs?${query}`)).items.map((run) => run.id);
    const run = await test.json<RunDetail>(`/v1/runs/${id}`);
    expect(await found('status=FAILED')).toEqual([id]);
    expect(await found('publicStatus=failed&limit=1')).toEqual([id]);
    expect(await found('publicStatus=waiting')).toHaveLength(9);
    expect(await found('route=rare')).toEqual([id]);
    expect(await found('workKey=needle')).toEqual([id]);
    expect(await found('workKey=unknown')).toEqual([]);
    expect(await found(`taskId=${run.taskId}`)).toEqual([id]);
    expect(await found('taskId=nonsense')).toEqual([]);
    expect(await found('repository=acme/api')).toHaveLength(10);
    expect(await found('repository=acme/other')).toEqual([]);
    expect(await found(`until=${run.createdAt}`)).toEqual([]);
    expect(await found(`since=${run.createdAt}`)).toHaveLength(10);
    expect(await found('since=2001-01-01T00:00:00Z&until=2002-01-01T00:00:00%2B02:00')).toEqual([]);
  });

  it('goes on with a cursor where a rare filter would read the whole table for one page', async () => {
    const test = await aConsole();
    await test.store.service.use((c) =>
      c.query(
        `insert into headgate.task (id, tenant_id, key_hash, work_key)
         select headgate.uuid7(), $1, sha256(n::text::bytea), n::text from generate_series(1, 5200) n`,
        [test.tenant.id],
      ),
    );
    const wanted = await seedRun(test.store, { tenant: test.tenant, spec: { route: 'rare' } });
    await test.store.service.use((c) =>
      c.query(
        `insert into headgate.run (id, tenant_id, task_id, receipt_id, generation, publication, input_version, route, mode,
                                   agent, queue, source, risk, priority, policy_version, spec, status)
         select headgate.uuid7(), k.tenant_id, k.id, r.receipt_id, 1, 1, 'v', 'common', r.mode, r.agent, r.queue, r.source,
                r.risk, 0, r.policy_version, r.spec, 'WAITING_APPROVAL'
           from headgate.task k, headgate.run r where r.id = $1 and length(k.work_key) <= 4`,
        [wanted.runId],
      ),
    );
    const first = await test.json<Page<Run>>('/v1/runs?route=rare');
    expect(first.items).toEqual([]);
    expect(first.nextCursor).not.toBeNull();
    const second = await test.json<Page<Run>>(`/v1/runs?route=rare&cursor=${first.nextCursor}`);
    expect(second.items.map((run) => run.id)).toEqual([idOf(wanted)]);
    expect(second.nextCursor).toBeNull();
  });
});

describe('GET /v1/runs/{id}', () => {
  it('Q6: shows every attempt, with its lease and what it cost', async () => {
    const test = await aConsole();
    const run = await seedRun(test.store, { tenant: test.tenant });
    const lease = await claimRun(test.store, run);
    await finishRun(
      test.store,
      lease,
      { kind: 'failed', reasonCode: 'SETUP_FAILED', detail: 'npm ci', retryAfterMs: null },
      0.25,
    );
    const shown = await test.json<RunDetail>(`/v1/runs/${idOf(run)}`);
    expect(shown).toMatchObject({
      id: idOf(run),
      taskId: formatId('task', run.taskId),
      receiptId: formatId('rcpt', run.receiptId),
      tenant: 'default',
      repository: 'acme/api',
      route: 'fix-failing-check',
      workKey: run.workKey,
      inputVersion: run.inputVersion,
      generation: 1,
      status: 'FAILED',
      publicStatus: 'failed',
      reasonCode: 'SETUP_FAILED',
      attempt: 1,
      queue: 'default',
      waiting: null,
      usage: null,
      operations: [],
      cost: { estimatedUsd: null, actualUsd: 0.25, maxUsd: 3, exceededAt: null },
    });
    expect(shown.attempts).toMatchObject([
      {
        number: 1,
        workerId: formatId('wkr', lease.workerId),
        leaseId: formatId('lease', lease.leaseId),
        fencingToken: lease.fence.fencingToken,
        status: 'failed',
        reasonCode: 'SETUP_FAILED',
        costUsd: 0.25,
      },
    ]);
    expect(shown.events.map((event) => event.type)).toEqual([
      'run.admitted',
      'run.queued',
      'run.claimed',
      'run.failed',
    ]);
    expect(shown.events.at(-1)).toMatchObject({ from: 'CLAIMED', to: 'FAILED', reasonCode: 'SETUP_FAILED' });
    expect(shown.finishedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('Q30: adds up the usage that attempts reported', async () => {
    const test = await aConsole();
    const run = await runInStatus(test.store, 'RUNNING', { tenant: test.tenant });
    await test.store.service.use((c) =>
      c.query(
        `insert into headgate.usage (attempt_id, tenant_id, run_id, model, input_tokens, output_tokens, provider_calls, cost_usd, cost_source)
         values ($1, $2, $3, 'small', 1000, 20, 3, 0.5, 'metered')`,
        [run.lease?.attemptId, test.tenant.id, run.runId],
      ),
    );
    const { usage, publicStatus } = await test.json<RunDetail>(`/v1/runs/${idOf(run)}`);
    expect(publicStatus).toBe('running');
    expect(usage).toEqual({
      models: ['small'],
      inputTokens: 1000,
      outputTokens: 20,
      toolMs: 0,
      cpuMs: 0,
      artifactBytes: 0,
      providerCalls: 3,
      costUsd: 0.5,
      byModel: [{ model: 'small', inputTokens: 1000, outputTokens: 20, costUsd: 0.5 }],
    });
  });

  it('knows no run by a strange id', async () => {
    const test = await aConsole();
    for (const id of ['run_00000000000000000000000000', 'nonsense', "'; drop table run", '%00', '../..']) {
      const response = await test.ask(`/v1/runs/${encodeURIComponent(id)}`);
      expect(response.status, id).toBe(404);
      expect(response.headers.get('content-type')).toContain('application/problem+json');
      expect(await response.json()).toMatchObject({ code: 'NOT_FOUND', status: 404, receiptId: null });
    }
  });
});

describe('what a run waits for', () => {
  const waitingOf = async (test: Awaited<ReturnType<typeof aConsole>>, run: { runId: never | string }) =>
    (await test.json<RunDetail>(`/v1/runs/${idOf(run as never)}`)).waiting;

  it('Q20: no capable worker is a visible reason', async () => {
    const test = await aConsole();
    const run = await seedRun(test.store, { tenant: test.tenant });
    expect(await waitingOf(test, run)).toMatchObject({
      reasonCode: 'NO_CAPABLE_WORKER',
      numbers: { liveWorkers: 0, ahead: 0 },
      until: null,
      wouldStartWhen: expect.stringContaining('worker'),
    });
  });

  it('Q22: a ready run counts the line before it', async () => {
    const test = await aConsole();
    await seedWorker(test.store, { queueIds: [test.tenant.queueId] });
    await seedRun(test.store, { tenant: test.tenant });
    await seedRun(test.store, { tenant: test.tenant });
    const last = await seedRun(test.store, { tenant: test.tenant });
    expect(await waitingOf(test, last)).toMatchObject({ reasonCode: 'READY', numbers: { ahead: 2 } });
  });

  it('Q23: a limit is named with how much of it is held, and what must end', async () => {
    const limits = {
      maxActive: null,
      maxActivePerRepository: 1,
      maxActivePerUser: null,
      maxActiveByRisk: {},
      maxActiveByProvider: {},
    };
    const test = await aConsole({ policy: aTwoTenantPolicy({ limits }) });
    await runInStatus(test.store, 'RUNNING', { tenant: test.tenant });
    const blocked = await seedRun(test.store, { tenant: test.tenant });
    expect(await waitingOf(test, blocked)).toMatchObject({
      reasonCode: 'REPOSITORY_AT_LIMIT',
      message: expect.stringContaining('1 of 1'),
      numbers: { held: 1, limit: 1 },
      wouldStartWhen: '1 active run of the repository ends.',
    });
  });

  it('Q18: a back-off says until when', async () => {
    const test = await aConsole();
    const run = await seedRun(test.store, { tenant: test.tenant });
    const lease = await claimRun(test.store, run);
    await finishRun(test.store, lease, {
      kind: 'failed',
      reasonCode: 'AGENT_FAILED',
      detail: null,
      retryAfterMs: null,
    });
    const waiting = await waitingOf(test, run);
    expect(waiting).toMatchObject({ reasonCode: 'RETRY_BACKOFF' });
    expect(Date.parse(waiting?.until ?? '')).toBeGreaterThan(Date.parse(waiting?.since ?? ''));
  });

  it('a deferral names its reason, an approval the person, a dispatch its worker', async () => {
    const test = await aConsole();
    const deferred = await runInStatus(test.store, 'WAITING_CAPACITY', { tenant: test.tenant });
    expect(await waitingOf(test, deferred)).toMatchObject({ reasonCode: 'SOURCE_UNAVAILABLE' });
    const asked = await runInStatus(test.store, 'WAITING_APPROVAL', { tenant: test.tenant });
    expect(await waitingOf(test, asked)).toMatchObject({
      reasonCode: 'APPROVAL_REQUIRED',
      wouldStartWhen: expect.stringContaining('role approver or admin approves it'),
    });
    const resting = await runInStatus(test.store, 'ADMITTED', { tenant: test.tenant });
    expect(await waitingOf(test, resting)).toMatchObject({
      reasonCode: 'ADMITTED',
      wouldStartWhen: expect.stringContaining('reconciler'),
    });
  });
});
