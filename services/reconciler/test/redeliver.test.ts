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

/** A source with a token, and plain hooks of its repository and its organisation. */
async function aPlainForge(credentials = 'token: "file:FOLDER/token"') {
  const forge = await aForge({
    source: `kind: github, ${credentials}, baseUrl: "API", webhookSecrets: [ "file:FOLDER/secret" ], scan: false, poll: false, redeliver: 2`,
  });
  const receiver = await aReceiver();
  const { github } = forge;
  github.state.hooks.push(
    { id: 11, owner: 'acme/api', url: receiver.url },
    { id: 12, owner: 'acme', url: receiver.url },
    { id: 13, owner: 'acme/api', url: 'https://elsewhere.example.com/hook' },
  );
  const send = (hookId: string) =>
    github.deliveries.send({ url: receiver.url, event: 'push', payload: {}, secret: 'hook', hookId });
  const turn = async (reconciler = forge.world.reconciler()) => {
    await forge.world.rows('update headgate.watermark set next_at = clock_timestamp(), claimed_until = null');
    await forge.world.rows("update headgate.redelivery set asked_at = asked_at - interval '1 hour'");
    await reconciler.round('redeliver-failed');
  };
  const asked = () => github.log.effects('delivery.asked').map((one) => one.objectId);
  return { ...forge, receiver, send, turn, asked };
}

describe('failed deliveries of plain hooks', () => {
  test('I10: of the repository’s and the organisation’s hook are asked for again; those of other receivers are not', async () => {
    const { send, turn, asked, receiver } = await aPlainForge();
    const failed = [await send('11'), await send('12')].map(({ guid }) => guid);
    await send('13');
    receiver.answer(202);
    await turn();
    expect(new Set(asked())).toEqual(new Set(failed));
    // Delivered now: nothing is asked for a second time.
    await turn();
    expect(asked()).toHaveLength(2);
  });

  test('I10: a failure on a later page of the log is found', async () => {
    const { github, send, turn, asked, receiver } = await aPlainForge();
    const old = await send('11');
    receiver.answer(202);
    for (let count = 0; count < 120; count += 1) await send('11');
    await turn();
    expect(asked()).toEqual([old.guid]);
    const pages = github.log.entries.filter(({ path }) => path.includes('/hooks/11/deliveries?'));
    expect(pages.map(({ path }) => /[?&]cursor=\d+/.test(path))).toContain(true);
  });

  test('I10: a limit ends the turn, and nothing is asked before it ends', async () => {
    const { github, world, send, turn, asked } = await aPlainForge();
    await send('11');
    github.failNext({ fault: { kind: 'too-many-requests', retryAfterSeconds: 900 }, path: /attempts/ });
    const reconciler = world.reconciler();
    await turn(reconciler);
    expect(asked()).toEqual([]);
    const [row] = await world.rows<{ outcome: string; later: number }>(
      `select outcome, extract(epoch from next_at - clock_timestamp())::int as later from headgate.watermark
        where repository = 'hook of acme/api 11'`,
    );
    expect(row).toMatchObject({ outcome: 'limited' });
    expect(row?.later).toBeGreaterThan(800);
    const before = github.log.entries.length;
    await turn(reconciler);
    expect(github.log.entries.length).toBe(before);
  });
});

/** The same hooks, seen by an App that was granted this. */
async function anAppWithPlainHooks(granted: Readonly<Record<string, string>>) {
  const folder = temporaryDataFolder();
  const file = join(folder, 'app.json');
  writeFileSync(file, JSON.stringify({ id: 7, privateKey, webhookSecret: 'hook' }));
  const forge = await aPlainForge(`app: "file:${file}"`);
  const permissions: Record<string, string> = { metadata: 'read', ...granted };
  forge.github.state.app = { id: 7, publicKey, installationId: 5, permissions };
  const outcomes = async () =>
    Object.fromEntries(
      (
        await forge.world.rows<{ hook: string; outcome: string }>(
          'select repository as hook, outcome from headgate.watermark',
        )
      ).map(({ hook, outcome }) => [hook, outcome]),
    );
  return { ...forge, permissions, outcomes };
}

describe('failed deliveries of plain hooks, with tokens of an App', () => {
  const MAY = { repository_hooks: 'write', organization_hooks: 'write' };

  test('I10: of all three logs are asked for again, each by its own hook, with a token for that alone', async () => {
    const { github, send, turn, asked, receiver } = await anAppWithPlainHooks(MAY);
    const failed = [await send('11'), await send('12'), await send('1')].map(({ guid }) => guid);
    await send('13');
    receiver.answer(202);
    await turn();
    expect(new Set(asked())).toEqual(new Set(failed));
    const again = github.deliveries.log.filter(({ redelivery }) => redelivery);
    expect(again.map(({ hookId, status_code }) => [hookId, status_code]).sort()).toEqual([
      ['1', 202],
      ['11', 202],
      ['12', 202],
    ]);
    const rights = github.state.tokens.map((minted) => minted.asked);
    const toWrite = rights.filter(({ permissions }) => JSON.stringify(permissions).includes('write'));
    expect(toWrite).toEqual([
      { repositories: ['api'], permissions: { repository_hooks: 'write' } },
      { repositories: ['api'], permissions: { organization_hooks: 'write' } },
    ]);
    await turn();
    expect(asked()).toHaveLength(3);
  });

  test('I10: an event that two hooks lost under one GUID is asked for at both, since neither has brought it', async () => {
    const { github, receiver, turn, asked } = await anAppWithPlainHooks(MAY);
    const event = { url: receiver.url, event: 'push', payload: {}, secret: 'hook', guid: 'one-guid' };
    await github.deliveries.send({ ...event, hookId: '11' });
    await github.deliveries.send({ ...event, hookId: '12' });
    receiver.answer(202);
    await turn();
    expect(asked()).toEqual(['one-guid', 'one-guid']);
    await turn();
    expect(asked()).toHaveLength(2);
  });

  test('I10: an App that may not see hooks asks for none, and its own log is read all the same', async () => {
    const { send, turn, asked, outcomes } = await anAppWithPlainHooks({});
    await send('11');
    const own = await send('1');
    await turn();
    expect(asked()).toEqual([own.guid]);
    expect(await outcomes()).toEqual({ 'hook of the App': 'looked' });
  });

  test('I10: one that may only read them uses up no try: granted later, the delivery is asked for', async () => {
    const { permissions, send, turn, asked, outcomes } = await anAppWithPlainHooks({
      repository_hooks: 'read',
    });
    const { guid } = await send('11');
    for (let turns = 0; turns < 4; turns += 1) await turn();
    expect(asked()).toEqual([]);
    expect(await outcomes()).toMatchObject({ 'hook of acme/api 11': 'denied' });
    permissions['repository_hooks'] = 'write';
    await turn();
    expect(asked()).toEqual([guid]);
    expect(await outcomes()).toMatchObject({ 'hook of acme/api 11': 'looked' });
  });

  test('I10: nor does a limit; a call without an answer does', async () => {
    const { github, send, turn, asked, receiver } = await anAppWithPlainHooks(MAY);
    await send('11');
    for (let turns = 0; turns < 3; turns += 1) {
      github.failNext({ fault: { kind: 'too-many-requests', retryAfterSeconds: 0 }, path: /attempts/ });
      await turn();
    }
    expect(asked()).toEqual([]);
    github.clearFaults();
    // It arrives, and its answer does not: of the two tries one is left.
    github.failNext({ fault: { kind: 'reset', when: 'after' }, path: /attempts/ });
    for (let turns = 0; turns < 4; turns += 1) await turn();
    expect(asked()).toHaveLength(2);
    expect(receiver.arrived()).toBe(3);
  });

  test('I10: two reconcilers ask once, also when one was stopped between its row and its call', async () => {
    const { world, send, asked } = await anAppWithPlainHooks(MAY);
    await send('11');
    const stopped = armFailPoint('redelivery.begun', 'hold@1');
    const first = world.reconciler().round('redeliver-failed');
    await stopped.reached;
    // Its claim runs out while it stands there: the other one reads the log, and finds a young try.
    await world.rows('update headgate.watermark set next_at = clock_timestamp(), claimed_until = null');
    await world.reconciler().round('redeliver-failed');
    expect(asked()).toEqual([]);
    stopped.release();
    await first;
    expect(asked()).toHaveLength(1);
  });
});

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
