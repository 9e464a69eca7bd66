import {
  allSamples,
  cloudEventDelivery,
  findSample,
  identify,
  messageDelivery,
  moduleOf,
  readCloudEvent,
  readSampleName,
  readWebhook,
  rewriteSample,
  sampleDelivery,
  signalOfCloudEvent,
  verifySignature,
} from '@headgate/sources';
import { describe, expect, it } from 'vitest';
import { BASE, HEAD, RECEIVED_AT, SUBJECT, sampleNamed } from './deliveries.js';
import { aSource } from './sources.js';

function found(spec: string) {
  const search = findSample(spec);
  if (search.kind !== 'sample') throw new Error(search.detail);
  return search.sample;
}

describe('samples', () => {
  it('are found by event, action and number; the first completed check is a failure', () => {
    expect(found('check_run.completed#0').payload).toMatchObject({
      action: 'completed',
      check_run: { conclusion: 'failure', status: 'completed' },
    });
    expect(found('check_run.completed')).toEqual(found('check_run.completed#0'));
    expect(found('github.check_run.completed')).toEqual(found('check_run.completed#0'));
    expect(found('check_run#1')).toEqual(found('check_run.completed#0'));
    expect(found('check_run.completed#1').payload).toMatchObject({ check_run: { conclusion: 'success' } });
    expect(found('push').name).toBe('push#0');
  });

  it('each has one full name, by which it is found', () => {
    const names = allSamples().map((it) => it.name);
    expect(new Set(names).size).toBe(names.length);
    for (const sample of allSamples()) expect(found(sample.name)).toEqual(sample);
  });

  it('that are not there are answered with the nearest names', () => {
    expect(findSample('check_run.complete')).toMatchObject({
      kind: 'unknown',
      nearest: expect.arrayContaining(['check_run.completed']),
    });
    expect(findSample('pul_request')).toMatchObject({ nearest: expect.arrayContaining(['pull_request']) });
    expect(findSample('check_run.completed#99')).toMatchObject({
      kind: 'unknown',
      nearest: ['check_run.completed#2'],
    });
    expect(findSample('push#x').kind).toBe('unknown');
    expect(findSample('').kind).toBe('unknown');
  });

  it('speak of the given repository, branch and commit everywhere, pull requests included', () => {
    const payload = rewriteSample(found('check_run.completed#0'), SUBJECT);
    const text = JSON.stringify(payload);
    for (const old of [
      'Hello-World',
      'ec26c3e57ca3',
      '6113728f27ae',
      'f95f852bd8fc',
      '"changes"',
      '"master"',
    ]) {
      expect(text).not.toContain(old);
    }
    const repo = { id: 42, name: 'api', url: 'https://api.github.com/repos/acme/api' };
    const pull = {
      number: 2,
      head: { ref: 'feature/x', sha: HEAD, repo },
      base: { ref: 'trunk', sha: BASE, repo },
    };
    expect(payload).toMatchObject({
      repository: {
        id: 42,
        name: 'api',
        full_name: 'acme/api',
        owner: { login: 'acme' },
        default_branch: 'trunk',
      },
      check_run: {
        conclusion: 'failure',
        head_sha: HEAD,
        pull_requests: [pull],
        check_suite: {
          head_branch: 'feature/x',
          head_sha: HEAD,
          before: BASE,
          after: HEAD,
          pull_requests: [pull],
        },
      },
    });
  });

  it('all can be rewritten, and name no repository but the given one', () => {
    for (const sample of allSamples()) {
      const before = JSON.stringify(sample.payload);
      const payload = rewriteSample(sample, SUBJECT);
      const repository = payload['repository'];
      if (repository !== undefined)
        expect(repository, sample.name).toMatchObject({ id: 42, full_name: 'acme/api' });
      expect(JSON.stringify(payload), sample.name).not.toContain('Codertocat/Hello-World');
      expect(JSON.stringify(sample.payload)).toBe(before);
    }
  });

  it('keep what is not theirs to change: tags, absent commits, people', () => {
    expect(rewriteSample(sampleNamed('push#0'), SUBJECT)).toMatchObject({
      ref: 'refs/tags/simple-tag',
      before: '0'.repeat(40),
      after: HEAD,
      sender: { login: 'Codertocat', id: 21031067 },
    });
    expect(rewriteSample(sampleNamed('push#4'), SUBJECT)).toMatchObject({ ref: 'refs/heads/feature/x' });
  });

  it('have no commit before the head when none is given', () => {
    const payload = rewriteSample(found('check_run.completed#0'), { ...SUBJECT, baseSha: null });
    expect(payload).toMatchObject({ check_run: { check_suite: { before: '0'.repeat(40) } } });
  });

  it('happen when they are sent: times move, keep their order and lie in no future', () => {
    const sample = found('check_run.completed#0');
    const read = (at: Date) => {
      const delivery = sampleDelivery({
        sample,
        subject: { ...SUBJECT, at },
        sourceId: 'a',
        secret: 's',
        deliveryId: 'd',
      });
      const reading = readWebhook({
        sourceId: 'a',
        rawBody: delivery.body,
        headers: delivery.headers,
        receivedAt: RECEIVED_AT,
        traceparent: null,
      });
      if (reading.kind !== 'signal') throw new Error(reading.kind);
      return reading.signal;
    };
    const first = read(SUBJECT.at);
    const later = read(new Date(SUBJECT.at.getTime() + 60_000));
    expect(first.emittedAt).toEqual(SUBJECT.at);
    expect(first.sourceAt?.getTime()).toBe(SUBJECT.at.getTime() - 41_000);
    expect((later.sourceAt?.getTime() ?? 0) - (first.sourceAt?.getTime() ?? 0)).toBe(60_000);
    const times = JSON.stringify(first.data).matchAll(/"(\d{4}-\d\d-\d\dT[^"]*Z)"/g);
    for (const [, time = ''] of times) expect(Date.parse(time)).toBeLessThanOrEqual(SUBJECT.at.getTime());
  });

  it.each(['json', 'form'] as const)(
    'are sent as GitHub would as %s: signed, and read back to their work',
    (encoding) => {
      const delivery = sampleDelivery({
        sample: found('check_run.completed#0'),
        subject: SUBJECT,
        sourceId: 'example-github',
        secret: 'example-webhook-secret',
        deliveryId: 'd-1',
        hookId: '9',
        encoding,
      });
      expect(delivery).toMatchObject({ method: 'POST', path: '/webhooks/example-github' });
      const { body, headers } = delivery;
      expect(verifySignature(body, headers, ['example-webhook-secret'])).toEqual({
        ok: true,
        secretIndex: 0,
      });
      const reading = readWebhook({
        sourceId: 'example-github',
        rawBody: body,
        headers,
        receivedAt: RECEIVED_AT,
        traceparent: null,
      });
      if (reading.kind !== 'signal') throw new Error(reading.kind);
      expect(reading.signal).toMatchObject({ eventId: '9/d-1', type: 'github.check_run.completed' });
      expect(identify(reading.signal)).toEqual({
        kind: 'work',
        work: { workKey: '42/pr/2/check/Octocoders-linter', inputVersion: HEAD },
      });
    },
  );
});

describe('samples of the other families', () => {
  const ACTOR = { kind: 'token', id: 't', name: 't' } as const;
  const repositories = [
    { fullName: SUBJECT.repository.fullName, url: '/srv/api.git', defaultBranch: 'main', ciTrusted: false },
  ];

  it('are called as a route’s on calls the event', () => {
    expect(readSampleName('github.check_run.completed#1')).toMatchObject({
      family: 'github',
      name: 'check_run.completed#1',
    });
    expect(readSampleName('cloudevents.com.example.build.failed')).toEqual({
      family: 'cloudevents',
      name: 'cloudevents.com.example.build.failed#0',
      type: 'com.example.build.failed',
      mode: 'structured',
    });
    expect(readSampleName('cloudevents.a#1')).toMatchObject({ mode: 'binary' });
    expect(readSampleName('webhook.deploy.failed')).toMatchObject({
      family: 'webhook',
      type: 'deploy.failed',
    });
  });

  it.each([
    'cloudevents',
    'cloudevents.',
    'cloudevents.a b',
    'cloudevents.a#2',
    'webhook',
    'webhook.a#1',
    'nope',
  ])('%j is none, and the answer says what to write', (asked) => {
    expect(readSampleName(asked)).toMatchObject({
      family: 'unknown',
      detail: expect.stringMatching(/[.?]|:/),
    });
  });

  it.each(['structured', 'binary'] as const)(
    'a CloudEvent in %s mode is read as what it was made of',
    (mode) => {
      const { body, headers, path } = cloudEventDelivery({
        type: 'com.example.build.failed',
        mode,
        subject: SUBJECT,
        deliveryId: 'event-1',
        eventSource: 'https://ci.example.com/é',
        token: 'hg_token',
        data: { severity: 'low' },
      });
      expect([path, headers['authorization']]).toEqual(['/v1/events', 'Bearer hg_token']);
      const reading = readCloudEvent(body, headers);
      if (reading.kind !== 'event') throw new Error(reading.detail);
      const source = aSource({ kind: 'cloudevents', repositories });
      const asked = { source, receivedAt: RECEIVED_AT, traceparent: null, actor: ACTOR };
      expect(signalOfCloudEvent(reading.event, asked)).toMatchObject({
        type: 'cloudevents.com.example.build.failed',
        eventId: 'https://ci.example.com/é event-1',
        inputVersion: HEAD,
        target: { kind: 'branch', ref: SUBJECT.branch },
        repository: { fullName: SUBJECT.repository.fullName },
        data: { data: { severity: 'low', commit: HEAD } },
      });
    },
  );

  it('a message of Standard Webhooks is signed, and read as what it was made of', () => {
    const secret = 'whsec_ZXhhbXBsZS13ZWJob29rLXNlY3JldA==';
    const made = { type: 'deploy.failed', subject: SUBJECT, deliveryId: 'msg_1', sourceId: 'a b', data: {} };
    const delivery = messageDelivery({ ...made, secret });
    if (delivery === null) throw new Error('the secret signs');
    expect(delivery.path).toBe('/webhooks/a%20b');
    const source = aSource({ kind: 'standard-webhooks', repositories });
    const request = {
      source,
      rawBody: delivery.body,
      headers: delivery.headers,
      receivedAt: SUBJECT.at,
      traceparent: null,
    };
    const { hook } = moduleOf(source);
    expect(hook?.verify(request, [secret])).toEqual({ ok: true });
    expect(hook?.read(request)).toMatchObject({
      kind: 'signal',
      signal: { type: 'webhook.deploy.failed', eventId: 'msg_1', inputVersion: HEAD },
    });
    expect(messageDelivery({ ...made, secret: 'whsec_' })).toBeNull();
  });
});
