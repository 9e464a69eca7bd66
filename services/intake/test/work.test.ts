import { randomUUID } from 'node:crypto';
import { createIntake } from '@headgate/intake';
import type { HeadReading, SourceReader } from '@headgate/sources';
import { describe, expect, it } from 'vitest';
import { post, type Reply } from '../../../test/world/deliveries.js';
import { CHECKS, policyFrom } from '../../../test/world/policy.js';
import { aContext, aToken, served } from '../../../test/world/service.js';
import { aWorld, type World } from '../../../test/world/world.js';

/** A source that answers what the test says. */
class StagedReader implements SourceReader {
  answer: HeadReading = { kind: 'head', sha: 'b'.repeat(40), observedAt: new Date() };
  asked = 0;
  readHead(): Promise<HeadReading> {
    this.asked += 1;
    return Promise.resolve(this.answer);
  }
}

interface Desk {
  readonly world: World;
  readonly reader: StagedReader;
  ask(body: unknown, headers?: Record<string, string>): Promise<Reply>;
}

async function aDesk(yaml: string = CHECKS): Promise<Desk> {
  const world = await aWorld(await policyFrom(yaml));
  const reader = new StagedReader();
  const { url } = await served(createIntake(await aContext(world), { env: {}, reader }));
  const token = await aToken(world, 'operator');
  return {
    world,
    reader,
    ask: (body, headers = {}) =>
      post(
        `${url}/v1/work`,
        { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers },
        typeof body === 'string' ? body : JSON.stringify(body),
      ),
  };
}

const receipts = (world: World) =>
  world.sql<Record<string, unknown>>('select * from headgate.receipt order by id');

describe('POST /v1/work', () => {
  it("I2: makes a run of the route's only repository at its head, in the name of the token", async () => {
    const { world, ask } = await aDesk();
    const reply = await ask({ route: 'fix', inputs: { depth: 2 }, priority: 'urgent', reason: 'please' });
    expect(reply).toMatchObject({ status: 202, body: { outcome: 'accept', reasonCode: 'ADMITTED' } });
    const [run] = await world.sql<Record<string, unknown>>('select * from headgate.run');
    expect(run).toMatchObject({
      input_version: 'b'.repeat(40),
      priority: 14_400,
      actor: 'token:the operator',
      spec: { inputs: { depth: 2 }, repository: { fullName: 'acme/api' } },
    });
    expect((await receipts(world))[0]).toMatchObject({ trigger: 'manual', via: 'api', source: 'api' });
  });

  it('I2: a person bypasses nothing: the same version again is refused with its run', async () => {
    const { ask } = await aDesk();
    const first = await ask({ route: 'fix' });
    const second = await ask({ route: 'fix' });
    expect(second).toMatchObject({
      status: 409,
      body: { code: 'DUPLICATE_WORK', status: 409, runId: first.body['runId'], existing: true },
    });
    expect(second.headers.get('content-type')).toContain('application/problem+json');
    expect(second.body['receiptId']).toMatch(/^rcpt_/);
  });

  it('takes target, work key, version and seconds of head start as given, and asks no source for them', async () => {
    const { world, reader, ask } = await aDesk();
    const reply = await ask({
      route: 'fix',
      repository: 'ACME/api',
      target: { kind: 'branch', id: 'topic' },
      workKey: 'a:b',
      inputVersion: 'v1',
      priority: 90,
    });
    expect(reply.status).toBe(202);
    expect(reader.asked).toBe(0);
    const [run] = await world.sql<Record<string, unknown>>(
      'select r.*, t.work_key from headgate.run r join headgate.task t on t.id = r.task_id',
    );
    expect(run).toMatchObject({
      work_key: 'a:b',
      input_version: 'v1',
      priority: 90,
      spec: { target: { kind: 'branch', id: 'topic', ref: 'topic', aspect: null } },
    });
  });

  it('refuses who may not ask: no token, a wrong one, a viewer', async () => {
    const { world, ask } = await aDesk();
    const viewer = await aToken(world, 'viewer');
    const replies = await Promise.all([
      ask({ route: 'fix' }, { authorization: '' }),
      ask({ route: 'fix' }, { authorization: 'Bearer hg_wrong' }),
      ask({ route: 'fix' }, { authorization: `Bearer ${viewer}` }),
    ]);
    expect(replies.map((reply) => reply.status)).toEqual([401, 401, 403]);
    expect(await receipts(world)).toEqual([]);
  });

  it("answers what cannot be work with its code's status, and always with a receipt", async () => {
    const { world, ask, reader } = await aDesk();
    const replies = [
      await ask({ route: 'unknown' }),
      await ask({ route: 'fix', repository: 'acme/other' }),
      await ask({ route: 'fix', colour: 'red' }),
      await ask({}),
      await ask('{"broken"'),
      await ask({ route: 'fix', workKey: 'x'.repeat(3_000), inputVersion: 'v' }),
    ];
    reader.answer = { kind: 'gone' };
    replies.push(await ask({ route: 'fix', target: { kind: 'branch', id: 'nowhere' } }));
    expect(replies.map((reply) => [reply.status, reply.body['code']])).toEqual([
      [404, 'NO_ROUTE'],
      [403, 'OUT_OF_SCOPE'],
      [422, 'TASK_CONTRACT_INVALID'],
      [422, 'TASK_CONTRACT_INVALID'],
      [400, 'MALFORMED'],
      [422, 'TASK_CONTRACT_INVALID'],
      [422, 'TASK_CONTRACT_INVALID'],
    ]);
    expect(await receipts(world)).toHaveLength(7);
    expect(await world.sql('select 1 from headgate.task')).toEqual([]);
  });

  it('holds a body to the bounds of every delivery: one that breaks them is MALFORMED and starts nothing', async () => {
    const { world, ask } = await aDesk();
    const deep = `${'['.repeat(9_000)}${']'.repeat(9_000)}`;
    const replies = [
      await ask('{"route":"fix","route":"other"}'),
      await ask(`{"route":"fix","inputs":${deep}}`),
      await ask('{"route":"fix","reason":"a\\u0000b"}'),
      await ask('{"route":"fix","inputs":"\\ud800"}'),
      await ask('{"route":"fix","inputs":1e999}'),
      await ask('{"route":"fix","inputs":{"__proto__":{"a":1}}}'),
      await ask(''),
    ];
    expect(replies.map(({ status, body }) => [status, body['code']])).toEqual(
      replies.map(() => [400, 'MALFORMED']),
    );
    expect(replies[0]?.body['detail']).toContain('holds a key twice');
    expect(await receipts(world)).toHaveLength(replies.length);
    expect(await world.sql('select 1 from headgate.task')).toEqual([]);
  });

  it('I6: says 503 while the head cannot be read, and decides nothing', async () => {
    const { world, ask, reader } = await aDesk();
    reader.answer = { kind: 'unavailable', detail: 'The disk is gone.' };
    const key = { 'idempotency-key': 'k' };
    const reply = await ask({ route: 'fix' }, key);
    expect(reply).toMatchObject({ status: 503, body: { code: 'SOURCE_UNAVAILABLE' } });
    expect(reply.headers.get('retry-after')).toBe('10');
    expect(await receipts(world)).toEqual([]);
    reader.answer = { kind: 'head', sha: 'c'.repeat(40), observedAt: new Date() };
    expect(await ask({ route: 'fix' }, key)).toMatchObject({ status: 202, body: { reasonCode: 'ADMITTED' } });
  });

  it('says 413 above 1 MB and 415 for what is not JSON', async () => {
    const { ask } = await aDesk();
    const big = await ask({ route: 'fix', inputs: 'x'.repeat(1_100_000) });
    const other = await ask('route=fix', { 'content-type': 'application/x-www-form-urlencoded' });
    expect([big.status, other.status]).toEqual([413, 415]);
  });

  it('Q28: answers 429 with Retry-After where a quota is used up', async () => {
    const { ask } = await aDesk(`${CHECKS}
tenants: { default: { limits: { maxQueued: 1 } } }`);
    await ask({ route: 'fix', workKey: 'one', inputVersion: 'v' });
    const reply = await ask({ route: 'fix', workKey: 'two', inputVersion: 'v' });
    expect(reply).toMatchObject({ status: 429, body: { code: 'QUEUE_FULL', outcome: 'defer' } });
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(30);
  });

  it("a token of one tenant does not see another tenant's route", async () => {
    const yaml = `
version: 1
tenants: { red: {}, blue: {} }
sources:
  forge: { kind: github, tenant: red, webhookSecrets: [ "\${TEST_SECRET}" ], repositories: { acme/api: { url: /nowhere/api.git } } }
agents: { fixer: { runtime: command, command: [ node, fix.js ] } }
routes: { fix: { on: [ manual ], tenant: red } }`;
    const { world, ask } = await aDesk(yaml);
    const blueId = world.active.tenantIds.get('blue') ?? 0;
    const blue = await aToken(world, 'admin', blueId);
    const reply = await ask({ route: 'fix' }, { authorization: `Bearer ${blue}` });
    expect(reply).toMatchObject({ status: 404, body: { code: 'NO_ROUTE' } });
    expect((await receipts(world)).map((receipt) => [receipt['tenant_id'], receipt['route']])).toEqual([
      [blueId, null],
    ]);
  });
});

describe('Idempotency-Key', () => {
  it('Q25: the same key and body get the same answer, and no new receipt', async () => {
    const { world, ask } = await aDesk();
    const key = { 'idempotency-key': randomUUID() };
    const first = await ask({ route: 'fix', inputs: { a: 1, b: 2 } }, key);
    const second = await ask('{ "inputs": {"b": 2, "a": 1}, "route": "fix" }', key);
    expect(second.status).toBe(202);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect(await receipts(world)).toHaveLength(1);
  });

  it('Q25: a refusal is repeated as it was', async () => {
    const { world, ask } = await aDesk();
    const key = { 'idempotency-key': 'x' };
    const first = await ask({ route: 'unknown' }, key);
    const second = await ask({ route: 'unknown' }, key);
    expect(second).toMatchObject({ status: 404, body: first.body });
    expect(await receipts(world)).toHaveLength(1);
  });

  it('INV-IN3: another body under the same key is refused', async () => {
    const { world, ask } = await aDesk();
    const key = { 'idempotency-key': 'x' };
    await ask({ route: 'fix' }, key);
    const other = await ask({ route: 'fix', inputs: 1 }, key);
    expect(other).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    expect(await receipts(world)).toHaveLength(1);
  });

  it('Q25: a repeat while the first is being answered is told so, or given its answer', async () => {
    const { world, ask } = await aDesk();
    const key = { 'idempotency-key': 'x' };
    const replies = await Promise.all(Array.from({ length: 10 }, () => ask({ route: 'fix' }, key)));
    for (const reply of replies) {
      if (reply.status === 409) expect(reply.body['code']).toBe('IDEMPOTENCY_IN_FLIGHT');
      else expect(reply).toMatchObject({ status: 202, body: { reasonCode: 'ADMITTED' } });
    }
    expect(replies.some((reply) => reply.status === 202)).toBe(true);
    expect(await receipts(world)).toHaveLength(1);
  });

  it('Q25: a try that died after its decision is found again, and makes no second run', async () => {
    const { world, ask } = await aDesk();
    const key = { 'idempotency-key': 'x' };
    const first = await ask({ route: 'fix' }, key);
    // As a crash between the admission and the kept answer leaves it, a minute later.
    await world.sql(
      "update headgate.idempotency_key set http_status = null, body = null, created_at = now() - interval '2 minutes'",
    );
    const second = await ask({ route: 'fix' }, key);
    expect(second).toMatchObject({ status: 202, body: first.body });
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(await receipts(world)).toHaveLength(1);
  });

  it('refuses a key that is none', async () => {
    const { ask } = await aDesk();
    expect((await ask({ route: 'fix' }, { 'idempotency-key': 'two words' })).status).toBe(400);
  });
});
