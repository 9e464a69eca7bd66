import { formatId } from '@headgate/domain';
import { runInStatus, seedRun } from '@headgate/testkit';
import { beforeAll, describe, expect, it } from 'vitest';
import { aConsole, type TestConsole } from './a-console.js';
import { foreignRun } from './seeds.js';

const HOSTILE = `"><script>alert(1)</script><img src=x onerror='alert(2)'>`;

describe('pages', () => {
  // For those that only look.
  let shared: TestConsole;
  beforeAll(async () => {
    shared = await aConsole();
  });

  it('show runs, receipts, one run and why, and lead from one to the other', async () => {
    const test = await aConsole();
    const run = await runInStatus(test.store, 'FAILED', { tenant: test.tenant });
    const waiting = await seedRun(test.store, { tenant: test.tenant });
    const id = formatId('run', run.runId);
    const home = await (await test.ask('/')).text();
    expect(home).toContain(`href="/runs/${id}"`);
    expect(home).toContain('only waiting for its turn');
    expect(home).toContain(`/why?ref=${formatId('rcpt', run.receiptId)}`);
    const page = await (await test.ask(`/runs/${id}`)).text();
    expect(page).toContain('SETUP_FAILED');
    expect(page).toContain('Run again');
    expect(await (await test.ask(`/runs/${formatId('run', waiting.runId)}`)).text()).toContain('Cancel run');
    const why = await (await test.ask(`/why?ref=${encodeURIComponent(run.workKey)}`)).text();
    expect(why).toContain('run.claimed');
    expect(why).toContain('SETUP_FAILED');
    expect(await (await test.ask('/why')).text()).toContain('owner/repo#7');
    const looking = await (await test.ask(`/runs/${id}`, { token: test.tokens.viewer })).text();
    expect(looking).not.toContain('data-action');
  });

  it('show what came from outside as text, wherever it stands', async () => {
    const test = await aConsole();
    const run = await runInStatus(test.store, 'FAILED', {
      tenant: test.tenant,
      workKey: HOSTILE,
      inputVersion: HOSTILE,
      spec: { route: HOSTILE },
      receipt: {
        message: HOSTILE,
        type: HOSTILE,
        rule: HOSTILE,
        source: HOSTILE,
        actor: HOSTILE,
        repository: HOSTILE,
      },
    });
    await test.store.service.use((c) =>
      c.query(
        `insert into headgate.operation (id, tenant_id, key_hash, key, kind, state, run_id, task_id, fencing_token, lease_id, intent, external_id, url)
         values (headgate.uuid7(), $1, sha256('k'), $2, 'push', 'confirmed', $3, $4, 1, gen_random_uuid(), '{}', $2, 'javascript:alert(3)')`,
        [test.tenant.id, HOSTILE, run.runId, run.taskId],
      ),
    );
    const paths = [
      '/',
      `/runs/${formatId('run', run.runId)}`,
      `/why?ref=${encodeURIComponent(HOSTILE)}`,
      '/docs',
    ];
    for (const path of paths) {
      const text = await (await test.ask(path)).text();
      expect(text, path).not.toMatch(/<script>|<img|javascript:/);
      expect(text.match(/<script/g), path).toHaveLength(1);
      if (path !== '/docs') expect(text, path).toContain('&lt;script&gt;alert(1)');
    }
  });

  it('run under a policy that lets nothing in from elsewhere, nothing inline, no frame', async () => {
    const test = shared;
    for (const path of ['/', '/login', '/docs', '/v1/runs', '/openapi.json', '/assets/console.js']) {
      const { headers } = await test.ask(path);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy, path).toContain("default-src 'none'");
      expect(policy, path).toContain("script-src 'self'");
      expect(policy, path).toContain("frame-ancestors 'none'");
      expect(policy, path).not.toMatch(/unsafe|https?:|\*/);
      expect(headers.get('x-content-type-options'), path).toBe('nosniff');
      expect(headers.get('referrer-policy'), path).toBe('no-referrer');
    }
    for (const path of ['/', '/login', '/why', '/docs']) {
      const text = await (await test.ask(path)).text();
      expect(text, path).not.toMatch(/(?:src|href|action)="(?:https?:)?\/\//);
      expect(text, path).not.toMatch(/ style=| onclick=|<style/);
      for (const [, file] of text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)) {
        const asset = await test.ask(file ?? '', { token: null });
        expect(asset.status, file).toBe(200);
      }
    }
    expect((await test.ask('/assets/../src/index.ts')).status).toBe(404);
    expect((await test.ask('/assets/%2e%2e%2fpackage.json')).status).toBe(404);
  });

  it('send a stranger to the sign-in, and back where they wanted to go', async () => {
    const test = shared;
    for (const path of ['/', '/why?ref=a%26b', '/runs/run_x', '/docs']) {
      const response = await test.ask(path, { token: null });
      expect(response.status, path).toBe(303);
      expect(response.headers.get('location'), path).toBe(`/login?next=${encodeURIComponent(path)}`);
    }
  });

  it('say in words what is not there, and show no tenant another’s run', async () => {
    const test = await aConsole();
    const foreign = await foreignRun(test);
    for (const id of ['nonsense', formatId('run', foreign.runId)]) {
      const response = await test.ask(`/runs/${id}`, { token: test.tokens.tenant });
      expect(response.status).toBe(404);
      expect(response.headers.get('content-type')).toContain('text/html');
      expect(await response.text()).not.toContain(foreign.workKey);
    }
    expect(await (await test.ask('/', { token: test.tokens.tenant })).text()).not.toContain(foreign.workKey);
  });
});
