import { randomUUID } from 'node:crypto';
import { createIntake } from '@headgate/intake';
import { allSamples } from '@headgate/sources';
import { armFailPoint } from '@headgate/telemetry';
import { atEnd } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { aDelivery, deliver, post, signed } from '../../../test/world/deliveries.js';
import { TEST_SECRET } from '../../../test/world/policy.js';
import { aContext, served } from '../../../test/world/service.js';
import { aWorld, type World } from '../../../test/world/world.js';

async function anIntake(world: World, env: Record<string, string> = { TEST_SECRET }): Promise<string> {
  return (await served(createIntake(await aContext(world), { env }))).url;
}

const count = async (world: World, table: string): Promise<number> =>
  (await world.sql(`select 1 from headgate.${table}`)).length;

describe('POST /webhooks/{source}', () => {
  it('I9: answers 202 with the receipt, in the form that scripts read', async () => {
    const world = await aWorld();
    const reply = await deliver(await anIntake(world));
    expect(reply.status).toBe(202);
    expect(Object.keys(reply.body)).toEqual([
      'receiptId',
      'outcome',
      'reasonCode',
      'message',
      'runId',
      'taskId',
      'existing',
      'retryAfter',
    ]);
    expect(reply.body).toMatchObject({
      outcome: 'accept',
      reasonCode: 'ADMITTED',
      existing: false,
      retryAfter: null,
    });
    expect(reply.body['receiptId']).toMatch(/^rcpt_/);
    expect(reply.body['runId']).toMatch(/^run_/);
    expect(reply.body['taskId']).toMatch(/^task_/);
  });

  it('I20: every real delivery gets exactly one receipt, and none a 5xx', async () => {
    const world = await aWorld();
    const url = await anIntake(world);
    const samples = allSamples();
    expect(samples.length).toBeGreaterThan(200);

    const replies = await Promise.all(samples.map((sample) => deliver(url, { sample })));

    expect(replies.filter((reply) => reply.status !== 202).map((reply) => reply.body)).toEqual([]);
    expect(await count(world, 'receipt')).toBe(samples.length);
    const codes = new Map<string, number>();
    for (const { body } of replies) {
      const code = String(body['reasonCode']);
      codes.set(code, (codes.get(code) ?? 0) + 1);
    }
    expect([...codes.keys()].sort()).toEqual(['ADMITTED', 'NOT_ELIGIBLE', 'NO_ROUTE', 'PING']);
    expect(codes.get('ADMITTED')).toBeGreaterThan(0);
  });

  it('I20: a delivery in a form is the same signal', async () => {
    const world = await aWorld();
    const reply = await deliver(await anIntake(world), { encoding: 'form' });
    expect(reply).toMatchObject({ status: 202, body: { reasonCode: 'ADMITTED' } });
  });

  it('I20: an event that GitHub does not have yet is kept with UNKNOWN_EVENT', async () => {
    const world = await aWorld();
    const url = await anIntake(world);
    const body = Buffer.from(JSON.stringify({ action: 'invented', repository: null }));
    const reply = await post(
      `${url}/webhooks/forge`,
      signed(body, { 'x-github-event': 'quantum_leap' }),
      body,
    );
    expect(reply).toMatchObject({ status: 202, body: { outcome: 'reject', reasonCode: 'UNKNOWN_EVENT' } });
    expect(await count(world, 'payload')).toBe(1);
  });

  it("refuses a wrong, a missing and another body's signature with 401, and leaves no receipt", async () => {
    const world = await aWorld();
    const url = await anIntake(world);
    const delivery = aDelivery();
    const { 'x-hub-signature-256': _signature, ...unsigned } = delivery.headers;
    const tampered = Buffer.concat([delivery.body, Buffer.from(' ')]);
    const replies = await Promise.all([
      deliver(url, { secret: 'a wrong secret' }),
      post(`${url}${delivery.path}`, unsigned, delivery.body),
      post(`${url}${delivery.path}`, delivery.headers, tampered),
    ]);
    for (const reply of replies) {
      expect(reply).toMatchObject({ status: 401, body: { code: 'SIGNATURE_INVALID', receiptId: null } });
    }
    expect(await count(world, 'receipt')).toBe(0);
  });

  it('trusts nothing while its secret cannot be read', async () => {
    const world = await aWorld();
    const reply = await deliver(await anIntake(world, {}), { secret: '' });
    expect(reply.status).toBe(401);
  });

  it('answers a signed body that it cannot read with 400 and the receipt that keeps it', async () => {
    const world = await aWorld();
    const url = await anIntake(world);
    const body = Buffer.from('{"broken":');
    const reply = await post(`${url}/webhooks/forge`, signed(body), body);
    expect(reply).toMatchObject({ status: 400, body: { code: 'MALFORMED', status: 400 } });
    expect(reply.body['receiptId']).toMatch(/^rcpt_/);
    expect(reply.headers.get('content-type')).toContain('application/problem+json');
    expect(await count(world, 'receipt')).toBe(1);
    expect(await count(world, 'payload')).toBe(1);
  });

  it('says 404 for an unknown source, 415 for another type, 413 above 25 MB', async () => {
    const world = await aWorld();
    const url = await anIntake(world);
    const text = Buffer.from('hello');
    const big = Buffer.alloc(25 * 1024 * 1024 + 1, ' ');
    const replies = await Promise.all([
      deliver(url, { source: 'nobody' }),
      post(`${url}/webhooks/forge`, signed(text, { 'content-type': 'text/plain' }), text),
      post(`${url}/webhooks/forge`, { 'content-type': 'application/json' }, big),
    ]);
    expect(replies.map((reply) => reply.status)).toEqual([404, 415, 413]);
    expect(replies.map((reply) => reply.body['code'])).toEqual([
      'NO_SUCH_SOURCE',
      'UNSUPPORTED_MEDIA_TYPE',
      'TOO_LARGE',
    ]);
    // The one that was signed has a receipt.
    expect(replies.map((reply) => typeof reply.body['receiptId'])).toEqual(['object', 'string', 'object']);
    expect(await count(world, 'receipt')).toBe(1);
  });

  it('I18: the same delivery at two intakes in the same moment is one run', async () => {
    const world = await aWorld();
    const urls = [await anIntake(world), await anIntake(world)];
    const deliveryId = randomUUID();
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, at) => deliver(urls[at % 2] ?? '', { deliveryId })),
    );
    const runIds = new Set(replies.map((reply) => reply.body['runId']));
    expect(runIds.size).toBe(1);
    expect(replies.filter((reply) => reply.body['reasonCode'] === 'ADMITTED')).toHaveLength(1);
    expect(await count(world, 'receipt')).toBe(20);
    expect(await count(world, 'run')).toBe(1);
  });

  it('Q24: while it drains, new requests are asked to come again and those inside are answered', async () => {
    const world = await aWorld();
    const intake = createIntake(await aContext(world), { env: { TEST_SECRET } });
    const { url } = await served(intake);
    const held = armFailPoint('intake.batch.before', 'hold@1');
    atEnd(() => held.disarm());
    const inside = deliver(url);
    await held.reached;
    const draining = intake.drain();
    const late = await deliver(url);
    held.release();
    await draining;
    expect((await inside).status).toBe(202);
    expect(late).toMatchObject({ status: 503, body: { code: 'DRAINING' } });
    expect(late.headers.get('retry-after')).toBe('2');
    await intake.start();
    expect((await deliver(url)).status).toBe(202);
  });

  it('counts a rotated secret within seconds', async () => {
    const world = await aWorld();
    const env: Record<string, string> = { TEST_SECRET: 'the old one' };
    const url = await anIntake(world, env);
    expect((await deliver(url, { secret: 'the old one' })).status).toBe(202);
    env['TEST_SECRET'] = 'the new one';
    let reply = await deliver(url, { secret: 'the new one' });
    const giveUpAt = performance.now() + 10_000;
    while (reply.status === 401 && performance.now() < giveUpAt) {
      reply = await deliver(url, { secret: 'the new one' });
    }
    expect(reply.status).toBe(202);
  });
});
