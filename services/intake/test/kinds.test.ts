/** Standard Webhooks at /webhooks/{source} and CloudEvents at /v1/events, through real Postgres. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createIntake } from '@headgate/intake';
import { signBody, signMessage } from '@headgate/sources';
import { temporaryDataFolder } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { post, type Reply, signed } from '../../../test/world/deliveries.js';
import { policyFrom } from '../../../test/world/policy.js';
import { aContext, aToken, served } from '../../../test/world/service.js';
import { aWorld } from '../../../test/world/world.js';

const WHSEC = `whsec_${Buffer.from('a secret of the test').toString('base64')}`;
const SHA = 'd4'.repeat(20);

const policy = await policyFrom(`
version: 1
tenants: { red: {}, blue: {} }
sources:
  billing:
    kind: standard-webhooks
    tenant: red
    webhookSecrets: [ "\${TEST_SECRET}" ]
    replayWindow: 1h
    repositories: { acme/api: { url: /nowhere/api.git, defaultBranch: main } }
  bus:
    kind: cloudevents
    tenant: red
    from: [ "https://ci.example/*" ]
    repositories: { acme/api: { url: /nowhere/api.git, defaultBranch: main } }
agents: { fixer: { runtime: command, command: [ node, fix.js ] } }
routes:
  deploys: { tenant: red, on: [ webhook.deploy.failed ], when: event.data.severity == "high" }
  builds: { tenant: red, on: [ cloudevents.com.example.build ] }
`);

async function anIntake(env: Record<string, string> = { TEST_SECRET: WHSEC }) {
  const world = await aWorld(policy);
  const { url } = await served(createIntake(await aContext(world), { env }));
  const receipts = () =>
    world.sql<{ reason_code: string; source: string; message: string }>(
      "select reason_code, source, message from headgate.receipt where kind = 'decision' order by id",
    );
  return { world, url, receipts };
}

function hook(url: string, body: unknown, { id = 'msg_1', sentAt = new Date() } = {}): Promise<Reply> {
  const bytes = Buffer.from(JSON.stringify(body));
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
    'webhook-signature': signMessage(id, sentAt, bytes, WHSEC) ?? '',
  };
  return post(`${url}/webhooks/billing`, headers, bytes);
}

const failed = (severity = 'high') => ({
  type: 'deploy.failed',
  timestamp: new Date().toISOString(),
  data: { severity, branch: 'main', commit: SHA },
});

describe('standard webhooks', () => {
  it('I1: wake a route like any other event; the same id is the same delivery, the same commit the same work', async () => {
    const { url, receipts } = await anIntake();
    const first = await hook(url, failed());
    expect(first).toMatchObject({ status: 202, body: { outcome: 'accept', reasonCode: 'ADMITTED' } });
    const again = await hook(url, failed());
    expect(again.body).toMatchObject({ reasonCode: 'DUPLICATE_DELIVERY', runId: first.body['runId'] });
    const other = await hook(url, failed(), { id: 'msg_2' });
    expect(other.body).toMatchObject({ reasonCode: 'DUPLICATE_WORK', runId: first.body['runId'] });
    expect((await hook(url, failed('low'), { id: 'msg_3' })).body).toMatchObject({
      reasonCode: 'NOT_ELIGIBLE',
    });
    expect((await hook(url, { type: 'else' }, { id: 'msg_4' })).body).toMatchObject({
      reasonCode: 'NO_ROUTE',
    });
    expect((await receipts()).map((one) => one.source)).toEqual(Array(5).fill('billing'));
  });

  it('I2: an event from before the replay window is STALE_EVENT; a message signed long ago is refused', async () => {
    const { url } = await anIntake();
    const old = { ...failed(), timestamp: new Date(Date.now() - 2 * 3_600_000).toISOString() };
    expect(await hook(url, old)).toMatchObject({ status: 202, body: { reasonCode: 'STALE_EVENT' } });
    const captured = await hook(url, failed(), { id: 'msg_2', sentAt: new Date(Date.now() - 600_000) });
    expect(captured).toMatchObject({ status: 401, body: { code: 'SIGNATURE_INVALID', receiptId: null } });
  });

  it('a GitHub App’s file holds the secret of its hook, and is read again', async () => {
    const folder = temporaryDataFolder();
    const file = join(folder, 'app.json');
    const pem = '-----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY-----';
    const write = (webhookSecret: string) =>
      writeFileSync(file, JSON.stringify({ id: 7, privateKey: pem, webhookSecret }));
    write('first');
    const world = await aWorld(
      await policyFrom(`
version: 1
sources:
  app: { kind: github, app: "file:${file}", poll: false, scan: false, repositories: { acme/api: { url: /nowhere/api.git } } }
`),
    );
    const { url } = await served(createIntake(await aContext(world), { env: {} }));
    const body = Buffer.from('{"zen":"…"}');
    const ping = (secret: string) =>
      post(
        `${url}/webhooks/app`,
        signed(body, { 'x-github-event': 'ping', 'x-hub-signature-256': signBody(body, secret) }),
        body,
      );
    expect(await ping('first')).toMatchObject({ status: 202, body: { reasonCode: 'PING' } });
    expect(await ping('second')).toMatchObject({ status: 401 });
  });
});

describe('CloudEvents at /v1/events', () => {
  const event = (change: object = {}) => ({
    specversion: '1.0',
    id: 'e-1',
    source: 'https://ci.example/builds',
    type: 'com.example.build',
    newextension: 1,
    data: { branch: 'main', commit: SHA },
    ...change,
  });
  const send = (url: string, token: string, body: unknown, type = 'application/cloudevents+json') =>
    post(
      `${url}/v1/events`,
      { authorization: `Bearer ${token}`, 'content-type': type },
      JSON.stringify(body),
    );

  it('I3: structured and binary are one event, known by source and id; unknown extensions pass', async () => {
    const { world, url } = await anIntake();
    const token = await aToken(world, 'operator');
    const first = await send(url, token, event());
    expect(first).toMatchObject({ status: 202, body: { outcome: 'accept', reasonCode: 'ADMITTED' } });
    const binary = await post(
      `${url}/v1/events`,
      {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'ce-specversion': '1.0',
        'ce-id': 'e-1',
        'ce-source': 'https://ci.example/builds',
        'ce-type': 'com.example.build',
      },
      JSON.stringify(event().data),
    );
    expect(binary.body).toMatchObject({ reasonCode: 'DUPLICATE_DELIVERY', runId: first.body['runId'] });
    const elsewhere = await send(url, token, event({ source: 'https://other.example' }));
    expect(elsewhere).toMatchObject({ status: 202, body: { outcome: 'reject', reasonCode: 'OUT_OF_SCOPE' } });
  });

  it('asks for a token that may, and reaches the sources of its tenant only', async () => {
    const { world, url, receipts } = await anIntake();
    expect(await send(url, 'nothing', event())).toMatchObject({ status: 401 });
    expect(await send(url, await aToken(world, 'viewer'), event())).toMatchObject({ status: 403 });
    const [blue] = await world.sql<{ id: number }>("select id from headgate.tenant where key = 'blue'");
    expect(await send(url, await aToken(world, 'operator', blue?.id ?? 0), event())).toMatchObject({
      status: 404,
      body: { code: 'NO_SUCH_SOURCE' },
    });
    expect(await receipts()).toEqual([]);
  });

  it('I20: what cannot be read has a receipt, since its sender is known; a batch is told what to do', async () => {
    const { world, url, receipts } = await anIntake();
    const token = await aToken(world, 'operator');
    const replies = await Promise.all([
      send(url, token, event({ id: 7 })),
      send(url, token, [event()], 'application/cloudevents-batch+json'),
      send(url, token, 'x', 'text/plain'),
    ]);
    expect(replies.map((one) => one.status)).toEqual([400, 415, 415]);
    expect(replies[1]?.body['detail']).toContain('send each event in a request of its own');
    expect(replies.every((one) => String(one.body['receiptId']).startsWith('rcpt_'))).toBe(true);
    expect((await receipts()).map((one) => one.reason_code)).toEqual(['MALFORMED', 'MALFORMED', 'MALFORMED']);
  });
});
