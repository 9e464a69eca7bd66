import { formatId, systemIds } from '@headgate/domain';
import { describeWithTool, eventually, testRedis } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { aConsole } from './a-console.js';

describeWithTool('redis', 'Bull Board', () => {
  it('C6: shows the policy’s queues to whoever is signed in, read-only, and leads to the run', async () => {
    const test = await aConsole({ redis: await testRedis() });
    const runId = systemIds.next('run');
    await eventually(
      async () =>
        (await test.context.bus.publish([{ queue: 'default', runId, dispatchNo: 1, traceparent: null }]))
          .published === 1,
      { what: 'the hint is in Redis' },
    );
    const page = await test.ask('/bull/', { token: test.tokens.viewer });
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
    expect(await page.text()).toContain('<base href="/bull/"');
    const overview = await test.ask('/bull/api/queues?activeQueue=default&status=waiting', {
      token: test.tokens.viewer,
    });
    expect(await overview.text()).toContain(`/runs/${formatId('run', runId)}`);
    const signIn = await test.ask('/session', {
      method: 'POST',
      token: null,
      body: { token: test.tokens.viewer },
      headers: { origin: test.url },
    });
    const cookie = (signIn.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    expect((await test.ask('/bull/api/queues', { token: null, headers: { cookie } })).status).toBe(200);
    expect((await test.ask('/bull/api/queues/default/empty', { method: 'PUT' })).status).toBe(405);
    expect((await test.ask('/bull/', { token: null })).status).toBe(401);
    expect((await test.ask('/bull/', { token: test.tokens.tenant })).status).toBe(403);
    const queues = await test.json<{ items: { hints: unknown }[] }>('/v1/queues');
    expect(queues.items[0]?.hints).toEqual({ waiting: 1, active: 0, foreign: 0 });
    const theirs = await test.json<{ items: { hints: unknown }[] }>('/v1/queues', {
      token: test.tokens.tenant,
    });
    expect(theirs.items[0]?.hints).toBeNull();
  });
});

describe('Bull Board without Redis', () => {
  it('says that there are no hints to show', async () => {
    const test = await aConsole();
    const response = await test.ask('/bull/');
    expect(response.status).toBe(503);
    expect(await response.text()).toContain('no Redis');
  });
});
