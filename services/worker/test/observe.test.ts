import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ObserveSpec } from '@headgate/domain';
import { armFailPoint } from '@headgate/telemetry';
import { anAgent, atEnd, type SeededRun } from '@headgate/testkit';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventsOf, rowsOf, type Workshop, workshop } from './workshop.js';

const command = (line: string, timeoutMs = 20_000): ObserveSpec => ({
  kind: 'command',
  command: line,
  timeoutMs,
});
const observationOf = async (shop: Workshop, run: SeededRun) => {
  const [attempt] = await rowsOf<{ evidence: { observation: unknown } | null; costUsd: number }>(
    shop,
    `select evidence, cost_usd::float8 as "costUsd" from headgate.attempt where run_id = $1 order by number desc limit 1`,
    [run.runId],
  );
  expect(attempt?.costUsd).toBe(0);
  return attempt?.evidence?.observation;
};

describe('an observation by a command', () => {
  let shop: Workshop;
  beforeAll(async () => {
    shop = await workshop();
    await shop.worker({ slots: 4 });
  });

  it('I2: is a run without an agent: it succeeds whatever it sees, seals nothing and pushes nothing', async () => {
    const run = await shop.offer({
      observe: command(`grep -c FIXME src/sum.js; echo '{"errors": 2}'; exit 3`),
    });
    await shop.reaches(run.runId, 'SUCCEEDED');
    expect(await observationOf(shop, run)).toEqual({
      kind: 'seen',
      facts: {
        kind: 'command',
        exitCode: 3,
        output: expect.stringContaining('"errors": 2'),
        json: { errors: 2 },
        status: null,
        body: null,
        version: shop.headSha,
        ref: 'main',
      },
    });
    expect(await shop.repository.pushes()).toEqual([]);
    expect(await rowsOf(shop, 'select 1 from headgate.seal where run_id = $1', [run.runId])).toEqual([]);
    const events = await eventsOf(shop, run.runId);
    expect(events).toContain('run.running');
    expect(events).not.toContain('run.finalizing');
    const logs = await rowsOf(shop, 'select name from headgate.artifact where run_id = $1', [run.runId]);
    expect(logs).toEqual([{ name: 'observation.log' }]);
  });

  it('I2: one that is not done in its time says so, and is not a failure', async () => {
    const run = await shop.offer({ observe: command('sleep 60', 1_000) });
    await shop.reaches(run.runId, 'SUCCEEDED');
    expect(await observationOf(shop, run)).toEqual({
      kind: 'unknown',
      detail: expect.stringContaining('not done in its time'),
    });
  });

  it('I2: a crash before its end is an attempt that is made again, and one observation', async () => {
    const crash = armFailPoint('worker.observed', 'throw@1');
    try {
      const run = await shop.offer({
        observe: command('true'),
        retry: { maxAttempts: 3, maxInfrastructure: 3, maxLeaseLost: 3, backoffMs: [10] },
      });
      await crash.reached;
      await shop.reaches(run.runId, 'QUEUED');
      expect(await observationOf(shop, run)).toBeUndefined();
      await rowsOf(shop, "update headgate.queue_item set state = 'ready', waits = null where run_id = $1", [
        run.runId,
      ]);
      await shop.dispatch(run);
      await shop.reaches(run.runId, 'SUCCEEDED');
      expect(await observationOf(shop, run)).toMatchObject({ kind: 'seen', facts: { exitCode: 0 } });
    } finally {
      crash.disarm();
    }
  });

  it('Q33: a command of others waits for a worker that isolates', async () => {
    const { needsIsolation } = await import('../src/queues.js');
    const own = await shop.seed({ observe: command('true') });
    const [row] = await rowsOf<{ spec: Parameters<typeof needsIsolation>[0] }>(
      shop,
      'select spec from headgate.run where id = $1',
      [own.runId],
    );
    if (row === undefined) throw new Error('no run');
    expect(needsIsolation(row.spec)).toBe(false);
    expect(needsIsolation({ ...row.spec, agent: anAgent({ trustedExample: false }) })).toBe(true);
    const http: ObserveSpec = { kind: 'http', url: 'https://x', headers: {}, allow: [], timeoutMs: 1 };
    expect(needsIsolation({ ...row.spec, agent: anAgent({ trustedExample: false }), observe: http })).toBe(
      false,
    );
  });
});

describe('an observation by a request', () => {
  async function aServer(): Promise<{ url: string; asked: string[]; server: Server }> {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(`${request.url} ${request.headers.authorization ?? ''}`);
      response.writeHead(request.url === '/moved' ? 302 : 200, { location: '/secret' });
      response.end(JSON.stringify({ errors: 0 }));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(async () => {
      server.closeAllConnections();
      server.close();
    });
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, server };
  }
  const request = (
    url: string,
    change: Partial<Extract<ObserveSpec, { kind: 'http' }>> = {},
  ): ObserveSpec => ({
    kind: 'http',
    url,
    headers: {},
    allow: ['127.0.0.1'],
    timeoutMs: 5_000,
    ...change,
  });

  it('security 11: is made by the worker, with its secrets, to what it may reach, and follows no redirect', async () => {
    process.env['HEADGATE_TEST_GOAL_TOKEN'] = 'Bearer of-the-test';
    atEnd(() => {
      delete process.env['HEADGATE_TEST_GOAL_TOKEN'];
    });
    const { url, asked } = await aServer();
    const shop = await workshop();
    await shop.worker({ slots: 4 });
    // biome-ignore lint/suspicious/noTemplateCurlyInString: references to secrets are written so
    const headers = { authorization: '${HEADGATE_TEST_GOAL_TOKEN}' };
    const seen = await shop.offer({ observe: request(`${url}/health`, { headers }) });
    const moved = await shop.offer({ observe: request(`${url}/moved`) });
    const refused = await shop.offer({ observe: request(`${url}/private`, { allow: [] }) });
    // biome-ignore lint/suspicious/noTemplateCurlyInString: references to secrets are written so
    const unset = await shop.offer({ observe: request(url, { headers: { x: '${HEADGATE_TEST_NO_SUCH}' } }) });
    for (const run of [seen, moved, refused, unset]) await shop.reaches(run.runId, 'SUCCEEDED');
    expect(await observationOf(shop, seen)).toMatchObject({
      kind: 'seen',
      facts: { kind: 'http', status: 200, json: { errors: 0 }, exitCode: null },
    });
    expect(await observationOf(shop, moved)).toMatchObject({ kind: 'seen', facts: { status: 302 } });
    expect(await observationOf(shop, refused)).toEqual({
      kind: 'unknown',
      detail: expect.stringContaining('not a public address'),
    });
    expect(await observationOf(shop, unset)).toEqual({
      kind: 'unknown',
      detail: expect.stringContaining('x'),
    });
    expect(asked.sort()).toEqual(['/health Bearer of-the-test', '/moved ']);
    const [row] = await rowsOf<{ spec: string }>(shop, 'select spec::text from headgate.run where id = $1', [
      seen.runId,
    ]);
    expect(row?.spec).not.toContain('of-the-test');
  });
});
