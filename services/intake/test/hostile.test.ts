/** What is refused before its sender is known: a clear status, a count, one receipt; and the service goes on. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createIntake } from '@headgate/intake';
import { listen } from '@headgate/service';
import { atEnd } from '@headgate/testkit';
import express from 'express';
import { describe, expect, it } from 'vitest';
import { deliver, post, signed } from '../../../test/world/deliveries.js';
import { TEST_SECRET } from '../../../test/world/policy.js';
import { aContext, served } from '../../../test/world/service.js';
import { aWorld, silent } from '../../../test/world/world.js';
import { type BodyFault, boundedBody } from '../src/http/bounded-body.js';

describe('hostile deliveries', () => {
  it('wrong secrets, compressed and oversized bodies leave one receipt with their number, however many', async () => {
    const world = await aWorld();
    const intake = createIntake(await aContext(world), { env: { TEST_SECRET } });
    const { url } = await served(intake);
    const wrong = await Promise.all(Array.from({ length: 30 }, () => deliver(url, { secret: 'guess' })));
    expect(new Set(wrong.map((one) => one.status))).toEqual(new Set([401]));
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024, ' '));
    const packed = await post(`${url}/webhooks/forge`, signed(bomb, { 'content-encoding': 'gzip' }), bomb);
    expect(packed).toMatchObject({ status: 415, body: { detail: 'Send it without Content-Encoding.' } });
    const large = Buffer.alloc(25 * 1024 * 1024 + 1, ' ');
    expect(await post(`${url}/webhooks/forge`, signed(large), large)).toMatchObject({ status: 413 });
    const receipts = () =>
      world.sql<{ kind: string; reason_code: string; source: string; message: string }>(
        'select kind, reason_code, source, message from headgate.receipt',
      );
    expect(await receipts()).toEqual([]);

    await intake.drain();
    const [only, ...others] = await receipts();
    expect(others).toEqual([]);
    expect(only).toMatchObject({ kind: 'decision', reason_code: 'SIGNATURE_INVALID', source: 'forge' });
    expect(only?.message).toContain('32 deliveries were refused');
    expect(only?.message).toContain('30 without a valid signature, 1 compressed, 1 larger than 25 MB');
    await intake.drain();
    expect(await receipts()).toHaveLength(1);
  });

  it('signed nonsense of every sort is answered, kept with MALFORMED, and changes nothing else', async () => {
    const world = await aWorld();
    const { url } = await served(createIntake(await aContext(world), { env: { TEST_SECRET } }));
    const bodies = [
      '{"a":1,"a":2}',
      '{"a":"\\u0000"}',
      '{"a":"\\ud800"}',
      '{"a":1e999}',
      `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
      '{"a":',
      '',
      Buffer.from([0xff, 0xfe, 0x00]),
    ].map((one) => Buffer.from(one));
    const replies = await Promise.all(
      bodies.map((body) => post(`${url}/webhooks/forge`, signed(body), body)),
    );
    expect(replies.map((one) => one.status)).toEqual(bodies.map(() => 400));
    expect(replies.every((one) => one.body['code'] === 'MALFORMED')).toBe(true);
    const polluted = Buffer.from('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
    expect((await post(`${url}/webhooks/forge`, signed(polluted), polluted)).status).toBe(202);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
    expect((await deliver(url)).body).toMatchObject({ reasonCode: 'ADMITTED' });
    const kept = await world.sql<{ n: string }>(
      "select count(*) as n from headgate.receipt where reason_code = 'MALFORMED'",
    );
    expect(Number(kept[0]?.n)).toBe(bodies.length);
  });
});

describe('a bounded body', () => {
  it('answers a sender that is too slow with 408 and closes the connection', async () => {
    const faults: BodyFault[] = [];
    const router = express.Router();
    const taken: express.RequestHandler = (_request, response) => {
      response.status(202).end();
    };
    router.post('/slow', ...boundedBody((_request, fault) => faults.push(fault), 50), taken);
    // Not in 50 ms: a busy machine is no slow sender.
    router.post('/next', ...boundedBody((_request, fault) => faults.push(fault)), taken);
    const edge = await listen({ host: '127.0.0.1', port: 0, routers: [router], logger: silent });
    atEnd(() => edge.close());
    const socket = connect(Number(new URL(edge.url).port), '127.0.0.1');
    let said = '';
    socket.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    socket.write(
      'POST /slow HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a":',
    );
    await once(socket, 'close');
    expect(said).toMatch(/^HTTP\/1\.1 408 /);
    expect(said).toContain('BODY_TOO_SLOW');
    expect(faults).toEqual(['time']);
    expect((await post(`${edge.url}/next`, { 'content-type': 'application/json' }, '{}')).status).toBe(202);
  });
});
