/** Standard Webhooks and CloudEvents, against the standards' own libraries. */
import { randomBytes } from 'node:crypto';
import type { SourcePolicy } from '@headgate/domain';
import { CloudEvent, HTTP } from 'cloudevents';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import {
  type Hook,
  type HookRequest,
  identify,
  judgeSignal,
  moduleOf,
  readCloudEvent,
  signalOfCloudEvent,
  signMessage,
  sourceOfCloudEvent,
} from '../src/index.js';
import { aSource } from './sources.js';

const NOW = new Date('2026-11-30T10:00:00Z');
const SHA = 'c3'.repeat(20);
const secret = `whsec_${randomBytes(24).toString('base64')}`;
const source = aSource({ id: 'billing', kind: 'standard-webhooks' });

function hookOf(one: Pick<SourcePolicy, 'kind'>): Hook {
  const { hook } = moduleOf(one);
  if (hook === null) throw new Error('no hook');
  return hook;
}

function request(body: unknown, change: Record<string, string> = {}, sentAt = NOW): HookRequest {
  const rawBody = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const signature = new Webhook(secret).sign('msg_1', sentAt, rawBody.toString());
  const seconds = String(Math.floor(sentAt.getTime() / 1000));
  const headers = {
    'content-type': 'application/json',
    'webhook-id': 'msg_1',
    'webhook-timestamp': seconds,
    'webhook-signature': signature,
    ...change,
  };
  return { source, rawBody, headers, receivedAt: NOW, traceparent: null };
}

describe('standard webhooks', () => {
  const hook = hookOf(source);

  it('trusts what the standard’s own library signed, under any of the secrets and any of the signatures', () => {
    const mine = request({ type: 'invoice.paid' });
    expect(hook.verify(mine, ['whsec_b3RoZXI=', secret])).toEqual({ ok: true });
    const many = { 'webhook-signature': `v1a,xx v1,AAAA ${String(mine.headers['webhook-signature'])}` };
    expect(hook.verify(request({ type: 'invoice.paid' }, many), [secret])).toEqual({ ok: true });
    expect(signMessage('msg_1', NOW, mine.rawBody, secret)).toBe(mine.headers['webhook-signature']);
  });

  it('refuses another secret, another body, id or time, no signature, and an empty secret', () => {
    const mine = request({ type: 'invoice.paid' });
    const refused = { ok: false };
    expect(hook.verify(mine, ['whsec_b3RoZXI='])).toMatchObject(refused);
    expect(hook.verify(mine, ['', 'whsec_'])).toMatchObject(refused);
    expect(hook.verify({ ...mine, rawBody: Buffer.from('{}') }, [secret])).toMatchObject(refused);
    for (const [name, value] of [
      ['webhook-id', 'msg_2'],
      ['webhook-timestamp', '1796032801'],
      ['webhook-timestamp', 'soon'],
      ['webhook-signature', ''],
      ['webhook-signature', 'v1,'.repeat(3_000)],
    ] as const) {
      expect(hook.verify(request({ type: 'a.b' }, { [name]: value }), [secret]), name).toMatchObject(refused);
    }
  });

  it('refuses what was signed too long ago, or for later: a captured message is worth nothing', () => {
    for (const offMs of [-300_000, 300_000]) {
      const at = new Date(NOW.getTime() + offMs);
      expect(hook.verify(request({ type: 'a.b' }, {}, at), [secret])).toEqual({ ok: true });
    }
    for (const offMs of [-301_000, 301_000]) {
      const at = new Date(NOW.getTime() + offMs);
      expect(hook.verify(request({ type: 'a.b' }, {}, at), [secret])).toMatchObject({
        ok: false,
        detail: expect.stringContaining('301 s from our clock'),
      });
    }
  });

  it('I3: is known by its id, named by its type, and about what it says', () => {
    const body = {
      type: 'deploy.failed',
      timestamp: '2026-11-30T09:59:00Z',
      data: { branch: 'topic', commit: SHA, extra: { kept: true } },
    };
    const reading = hook.read(request(body));
    if (reading.kind !== 'signal') throw new Error(reading.detail);
    const { signal } = reading;
    expect(signal).toMatchObject({
      eventId: 'msg_1',
      type: 'webhook.deploy.failed',
      target: { kind: 'branch', id: 'topic', aspect: 'webhook.deploy.failed' },
      inputVersion: SHA,
      emittedAt: new Date('2026-11-30T09:59:00Z'),
      data: body,
    });
    expect(identify(signal)).toMatchObject({
      kind: 'work',
      work: {
        workKey: expect.stringMatching(/branch\/topic\/aspect\/webhook\.deploy\.failed$/),
        inputVersion: SHA,
      },
    });
    expect(judgeSignal(source, signal)).toBeNull();
  });

  it('I20: without a type it is an unknown event; of another media type or unreadable, it is malformed', () => {
    const untyped = hook.read(request({ hello: 'world' }));
    if (untyped.kind !== 'signal') throw new Error(untyped.detail);
    expect(judgeSignal(source, untyped.signal)).toMatchObject({ reasonCode: 'UNKNOWN_EVENT' });
    expect(hook.read(request({}, { 'content-type': 'text/plain' }))).toMatchObject({ isMedia: true });
    expect(hook.read(request('[1]'))).toMatchObject({ kind: 'malformed' });
    expect(hook.read(request('{"a":1,"\\u0061":2}'))).toMatchObject({
      kind: 'malformed',
      detail: 'The JSON holds a key twice in one object.',
    });
  });
});

describe('the replay window', () => {
  it('I2: answers an event from before it with STALE_EVENT, whatever its kind', () => {
    const late = aSource({ kind: 'standard-webhooks', replayWindowMs: 60_000 });
    const hook = hookOf(late);
    const at = (timestamp: string) => {
      const reading = hook.read({ ...request({ type: 'a.b', timestamp }), source: late });
      return reading.kind === 'signal' ? judgeSignal(late, reading.signal) : reading;
    };
    expect(at('2026-11-30T09:59:00Z')).toBeNull();
    expect(at('2026-11-30T09:58:59Z')).toMatchObject({ outcome: 'reject', reasonCode: 'STALE_EVENT' });
    expect(at('whenever')).toBeNull();
  });
});

describe('CloudEvents', () => {
  const events = aSource({ id: 'bus', kind: 'cloudevents' });
  const actor = { kind: 'token', id: '1', name: 'ci' } as const;
  const event = new CloudEvent({
    id: 'e-1',
    source: 'https://ci.example/builds',
    type: 'com.example.build.failed',
    subject: 'nightly é',
    time: '2026-11-30T09:59:00Z',
    tenantextension: 'kept',
    data: { branch: 'topic', commit: SHA },
  });
  const sent = (message: { headers: object; body: unknown }) => {
    const headers = Object.fromEntries(
      Object.entries(message.headers).map(([name, value]) => [name, encodeHeader(String(value))]),
    );
    return readCloudEvent(Buffer.from(String(message.body)), headers);
  };
  // The library leaves the percent-encoding that the standard asks for to its caller.
  const encodeHeader = (value: string): string =>
    value.replace(/[^\x21-\x7e]/g, (one) => encodeURIComponent(one));

  it.each([
    ['binary', HTTP.binary(event)],
    ['structured', HTTP.structured(event)],
  ])('I3: reads what the standard’s own library sends in %s mode, with its extensions', (_mode, message) => {
    const reading = sent(message);
    if (reading.kind !== 'event') throw new Error(reading.detail);
    const signal = signalOfCloudEvent(reading.event, {
      source: events,
      actor,
      receivedAt: NOW,
      traceparent: null,
    });
    expect(signal).toMatchObject({
      eventId: 'https://ci.example/builds e-1',
      type: 'cloudevents.com.example.build.failed',
      subject: 'nightly é',
      emittedAt: new Date('2026-11-30T09:59:00Z'),
      target: { kind: 'branch', id: 'topic' },
      inputVersion: SHA,
      actor,
      data: { tenantextension: 'kept', data: { branch: 'topic', commit: SHA } },
    });
  });

  it('says what to send instead of a batch, another format, or nothing of an event', () => {
    const of = (type: string) => readCloudEvent(Buffer.from('[]'), { 'content-type': type });
    expect(of('application/cloudevents-batch+json')).toMatchObject({
      kind: 'unsupported-media',
      detail: 'Batches are not taken: send each event in a request of its own.',
    });
    expect(of('application/cloudevents+avro')).toMatchObject({ kind: 'unsupported-media' });
    expect(of('application/json')).toMatchObject({ kind: 'unsupported-media' });
  });

  it.each([
    [{ specversion: '0.3', id: '1', source: 's', type: 't' }, 'specversion 0.3 is not 1.0.'],
    [{ specversion: '1.0', id: '', source: 's', type: 't' }, 'An event needs'],
    [{ specversion: '1.0', id: 7, source: 's', type: 't' }, 'An event needs'],
    [{ specversion: '1.0', id: '1', source: 's', type: 't', time: 'now' }, 'time is not'],
    [{ specversion: '1.0', id: '1', source: 's', type: 't', subject: {} }, 'subject is not'],
  ])('I20: %j is malformed', (whole, detail) => {
    const headers = { 'content-type': 'application/cloudevents+json' };
    expect(readCloudEvent(Buffer.from(JSON.stringify(whole)), headers)).toMatchObject({
      kind: 'malformed',
      detail: expect.stringContaining(detail),
    });
  });

  it('belongs to the first source whose from names it', () => {
    const reading = sent(HTTP.structured(event));
    if (reading.kind !== 'event') throw new Error(reading.detail);
    const of = (...froms: string[][]) =>
      sourceOfCloudEvent(
        reading.event,
        froms.map((from, at) => aSource({ id: `s${at}`, kind: 'cloudevents', from })),
      )?.id;
    expect(of(['https://other*'], ['https://ci.example/*'])).toBe('s1');
    expect(of(['https://ci.example/builds'])).toBe('s0');
    expect(of(['https://ci.example'], [])).toBe('s1');
    expect(of(['https://ci.example'])).toBeUndefined();
  });
});
