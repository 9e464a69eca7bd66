import { formatId } from '@headgate/domain';
import { apiTokens, generateToken } from '@headgate/store';
import { beforeAll, describe, expect, it } from 'vitest';
import { createConsole } from '../src/index.js';
import { aConsole, type TestConsole } from './a-console.js';
import { isolatedConsole } from './foreign.js';
import { foreignRun } from './seeds.js';

const READS = [
  '/v1/receipts',
  '/v1/tasks',
  '/v1/runs',
  '/v1/workers',
  '/v1/schedules',
  '/v1/goals',
  '/v1/queues',
  '/v1/dead-letters',
  '/v1/approvals',
  '/v1/explain?ref=anything',
  '/v1/caller',
  '/v1/overview',
  '/v1/facets',
  '/openapi.json',
];

describe('who may ask', () => {
  // For those that change nothing.
  let shared: TestConsole;
  beforeAll(async () => {
    shared = await aConsole();
  });

  it('tells a stranger nothing on any route, and says how to sign in', async () => {
    const test = shared;
    for (const path of [...READS, '/v1/stream', '/v1/runs/run_00000000000000000000000000', '/bull/']) {
      for (const token of [null, 'hg_wrong', '']) {
        const response = await test.ask(path, { token });
        expect(response.status, path).toBe(401);
        const text = await response.text();
        expect(text, path).toMatch(/token|sign in/i);
      }
    }
    const action = await test.ask('/v1/runs/run_00000000000000000000000000/cancel', {
      method: 'POST',
      token: null,
      body: {},
    });
    expect(action.status).toBe(401);
    expect(action.headers.get('www-authenticate')).toContain('Bearer');
    for (const path of ['/healthz', '/readyz', '/metrics', '/login']) {
      expect((await test.ask(path, { token: null })).status, path).toBe(200);
    }
  });

  it('lets viewers look and operators act, and no one act who may only look', async () => {
    const test = shared;
    for (const path of READS)
      expect((await test.ask(path, { token: test.tokens.viewer })).status, path).toBe(200);
    const cancel = '/v1/runs/run_00000000000000000000000000/cancel';
    const refused = await test.ask(cancel, { method: 'POST', token: test.tokens.viewer, body: {} });
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({
      code: 'FORBIDDEN',
      detail: expect.stringContaining('operator'),
    });
    for (const role of ['operator', 'approver', 'admin'] as const) {
      const answered = await test.ask(cancel, { method: 'POST', token: test.tokens[role], body: {} });
      expect(answered.status, role).toBe(404);
    }
  });

  it('ends with the token: revoked or past its time, it opens nothing', async () => {
    const test = await aConsole();
    const old = generateToken();
    await test.store.service.use((c) =>
      apiTokens.put(c, { token: old, name: 'old', role: 'admin', tenantId: null, expiresAt: new Date(0) }),
    );
    expect((await test.ask('/v1/runs', { token: old })).status).toBe(401);
    expect((await test.ask('/v1/runs', { token: test.tokens.viewer })).status).toBe(200);
    await test.store.service.use((c) =>
      c.query("update headgate.api_token set revoked_at = clock_timestamp() where name = 'viewer'"),
    );
    expect((await test.ask('/v1/runs', { token: test.tokens.viewer })).status).toBe(401);
  });

  it('does not start where nothing would hold tenants apart', async () => {
    const test = shared;
    const { service } = test.context.database;
    const bare = { ...test.context, database: { ...test.context.database, api: service } };
    expect(() => createConsole(bare)).toThrow(/DATABASE_URL_API/);
  });

  it('bounds how often one address may ask', async () => {
    const test = await aConsole({ rateLimits: { apiPerMinute: 3 } });
    const statuses: number[] = [];
    for (let n = 0; n < 5; n += 1) statuses.push((await test.ask('/v1/queues')).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    const refused = await test.ask('/v1/runs');
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await refused.json()).toMatchObject({ code: 'TOO_MANY_REQUESTS', status: 429 });
  });
});

describe('tenants', () => {
  it('shows a tenant’s token its own rows only, on every route', async () => {
    const { test, foreign, paths, secrets } = await isolatedConsole();
    for (const path of paths) {
      const asked = await test.ask(path, { token: test.tokens.tenant });
      const text = await asked.text();
      expect([200, 404], path).toContain(asked.status);
      for (const secret of secrets) expect(text, `${path} leaks ${secret}`).not.toContain(secret);
      const own = await test.ask(path, { token: test.tokens.other });
      expect(own.status, `the tenant itself may read ${path}`).toBe(200);
    }
    const seen = await (await test.ask('/v1/runs', { token: test.tokens.other })).text();
    expect(seen).toContain(formatId('run', foreign.runId));
  });

  it('lets no tenant act on another’s schedule or goal', async () => {
    const { test, scheduleId, goalId } = await isolatedConsole();
    const state = () =>
      test.store.service.use((c) =>
        c.query(
          `select (select array[state, note] from headgate.schedule) as schedule,
                  (select array[state, note, epoch::text] from headgate.goal) as goal,
                  (select count(*)::int from headgate.schedule_request) as requests`,
        ),
      );
    const before = await state();
    const schedule = formatId('sch', scheduleId);
    const goal = formatId('goal', goalId);
    const span = { from: '2026-01-01T00:00:00Z', until: '2026-01-01T03:00:00Z' };
    for (const [path, body] of [
      [`schedules/${schedule}/pause`, { note: 'x' }],
      [`schedules/${schedule}/resume`, {}],
      [`schedules/${schedule}/trigger`, {}],
      [`schedules/${schedule}/backfill`, span],
      [`goals/${goal}/pause`, { note: 'x' }],
      [`goals/${goal}/resume`, {}],
      [`goals/${goal}/reset`, {}],
    ] as const) {
      const asked = (token: string) => test.ask(`/v1/${path}`, { method: 'POST', token, body });
      expect((await asked(test.tokens.tenant)).status, path).toBe(404);
      expect((await asked(test.tokens.viewer)).status, path).toBe(403);
    }
    expect(await state()).toEqual(before);
  });

  it('lets no tenant act on another’s run or task', async () => {
    const test = await aConsole();
    const foreign = await foreignRun(test);
    const run = formatId('run', foreign.runId);
    const task = formatId('task', foreign.taskId);
    for (const path of [
      `runs/${run}/cancel`,
      `runs/${run}/retry`,
      `tasks/${task}/cancel`,
      `tasks/${task}/reset`,
      `receipts/${formatId('rcpt', foreign.receiptId)}/replay`,
    ]) {
      const response = await test.ask(`/v1/${path}`, {
        method: 'POST',
        token: test.tokens.tenant,
        body: /cancel$|replay$/.test(path) ? {} : { cancelLive: true },
      });
      expect(response.status, path).toBe(404);
    }
    const [row] = await test.store.service.use((c) =>
      c.query<{ status: string; runs: number }>(
        `select r.status, (select count(*)::int from headgate.run) as runs from headgate.run r where id = $1`,
        [foreign.runId],
      ),
    );
    expect(row).toEqual({ status: 'QUEUED', runs: 1 });
  });
});
