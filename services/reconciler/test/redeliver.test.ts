/** I10: what GitHub could not deliver is asked for again, so often at most; what was received all the same is not. */
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { armFailPoint, disarmAllFailPoints } from '@headgate/telemetry';
import { atEnd, temporaryDataFolder } from '@headgate/testkit';
import { afterEach, describe, expect, test } from 'vitest';
import { aForge } from './forge.js';

afterEach(disarmAllFailPoints);

const { publicKey, privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
});

/** A receiver that answers with what the test says. */
async function aReceiver(): Promise<{
  url: string;
  answer: (status: number) => void;
  arrived: () => number;
}> {
  let status = 503;
  let count = 0;
  const server: Server = createServer((request, response) => {
    count += 1;
    request.resume().once('end', () => response.writeHead(status).end('{}'));
  });
  await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
  atEnd(() => new Promise((settle) => server.close(() => settle())));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/webhooks/acme`,
    answer: (next) => {
      status = next;
    },
    arrived: () => count,
  };
}

async function aHookedForge(redeliver = 2) {
  const folder = temporaryDataFolder();
  const file = join(folder, 'app.json');
  writeFileSync(file, JSON.stringify({ id: 7, privateKey, webhookSecret: 'hook' }));
  const forge = await aForge({
    source: `kind: github, app: "file:${file}", baseUrl: "API", poll: false, scan: false, redeliver: ${redeliver}`,
  });
  forge.github.state.app = { id: 7, publicKey, installationId: 5, permissions: { metadata: 'read' } };
  const receiver = await aReceiver();
  const send = (event = 'push', guid?: string) =>
    forge.github.deliveries.send({
      url: receiver.url,
      event,
      payload: {},
      secret: 'hook',
      ...(guid === undefined ? {} : { guid }),
    });
  const turn = async () => {
    await forge.world.rows('update headgate.watermark set next_at = clock_timestamp(), claimed_until = null');
    await forge.world.rows("update headgate.redelivery set asked_at = asked_at - interval '1 hour'");
    await forge.world.reconciler().round('redeliver-failed');
  };
  const asked = () => forge.github.log.effects('delivery.asked').map((one) => one.objectId);
  return { ...forge, receiver, send, turn, asked };
}

describe('failed deliveries', () => {
  test('I10: are asked for again until one arrives, and only those that somebody listens to', async () => {
    const { receiver, send, turn, asked } = await aHookedForge(5);
    const failed = await send();
    await send('deployment');
    await turn();
    await turn();
    expect(asked()).toEqual([failed.guid, failed.guid]);
    receiver.answer(202);
    await turn();
    await turn();
    await turn();
    expect(asked()).toEqual([failed.guid, failed.guid, failed.guid]);
  });

  test('I10: each so often at most, and a crash between the row and the call uses up a try', async () => {
    const { send, turn, asked, receiver } = await aHookedForge(2);
    await send();
    const crash = armFailPoint('redelivery.begun', 'throw');
    await turn();
    crash.disarm();
    expect(asked()).toHaveLength(0);
    for (let turns = 0; turns < 4; turns += 1) await turn();
    expect(asked()).toHaveLength(1);
    expect(receiver.arrived()).toBe(2);
  });

  test('I10: two reconcilers ask once', async () => {
    const { world, send, asked } = await aHookedForge();
    await send();
    await Promise.all([1, 2, 3].map(() => world.reconciler().round('redeliver-failed')));
    expect(asked()).toHaveLength(1);
  });

  test('I18: one that GitHub calls failed and that was received all the same is left alone', async () => {
    const { hook, send, turn, asked } = await aHookedForge();
    await hook('push', { ref: 'refs/heads/main' });
    await send('push', 'guid-1');
    await turn();
    expect(asked()).toEqual([]);
  });
});
