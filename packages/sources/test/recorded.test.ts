/** What is kept of a message gives the same signal as the message did. */
import type { Signal, SourcePolicy } from '@headgate/domain';
import { CloudEvent, HTTP } from 'cloudevents';
import { describe, expect, it } from 'vitest';
import {
  attributeHeaders,
  findSample,
  type Headers,
  moduleOf,
  type RecordedMessage,
  readCloudEvent,
  reread,
  signalOfCloudEvent,
} from '../src/index.js';
import { aSource } from './sources.js';

const NOW = new Date('2026-11-30T10:00:00Z');
const ACTOR = { kind: 'token', id: 'monitoring', name: 'monitoring' } as const;

/** As intake keeps it: body, media type, and the headers that are kept. */
const keptOf = (
  source: SourcePolicy,
  signal: Signal,
  body: Buffer,
  mediaType: string,
  headers: Headers = {},
): RecordedMessage => ({
  source,
  body,
  mediaType,
  headers: attributeHeaders(headers),
  eventId: signal.eventId,
  type: signal.type,
  hookId: signal.hookId,
  via: signal.via,
  actor: signal.actor,
  receivedAt: signal.receivedAt,
});

function received(source: SourcePolicy, body: Buffer, headers: Record<string, string>): Signal {
  const { hook } = moduleOf(source);
  if (hook === null) throw new Error('no hook');
  const reading = hook.read({ source, rawBody: body, headers, receivedAt: NOW, traceparent: null });
  if (reading.kind !== 'signal') throw new Error(reading.detail);
  return reading.signal;
}

describe('a message that is read again', () => {
  it.each(['check_run.completed#0', 'issue_comment.created#0', 'push', 'pull_request.synchronize#0'])(
    'I20: GitHub, %s: the same signal, under the same identity',
    (name) => {
      const found = findSample(name);
      if (found.kind !== 'sample') throw new Error(found.detail);
      const source = aSource();
      const body = Buffer.from(JSON.stringify(found.sample.payload));
      const headers = {
        'content-type': 'application/json',
        'x-github-event': name.split('.')[0]?.split('#')[0] ?? '',
        'x-github-delivery': 'guid-1',
        'x-github-hook-id': '77',
      };
      const signal = received(source, body, headers);
      expect(reread(keptOf(source, signal, body, 'application/json'))).toEqual({ signal, verdict: null });
    },
  );

  it('I20: a GitHub fact that was found by looking keeps the identity of the fact', () => {
    const found = findSample('pull_request.synchronize#0');
    if (found.kind !== 'sample') throw new Error(found.detail);
    const body = Buffer.from(JSON.stringify(found.sample.payload));
    const kept = {
      ...keptOf(aSource(), received(aSource(), body, HOOK), body, 'application/json'),
      via: 'poll' as const,
      hookId: null,
      eventId: '42/pr/7@abc',
    };
    expect(reread(kept)?.signal).toMatchObject({ via: 'poll', eventId: '42/pr/7@abc', hookId: null });
  });

  it('I20: Standard Webhooks: the id stood in a header and is the event id', () => {
    const source = aSource({ id: 'billing', kind: 'standard-webhooks' });
    const body = Buffer.from(JSON.stringify({ type: 'invoice.paid', data: { id: 3 } }));
    const signal = received(source, body, {
      'content-type': 'application/json',
      'webhook-id': 'msg_1',
      'webhook-timestamp': '1796032800',
    });
    expect(reread(keptOf(source, signal, body, 'application/json'))).toEqual({ signal, verdict: null });
  });

  it.each(['binary', 'structured'] as const)('I20: a CloudEvent in %s mode', (mode) => {
    const source = aSource({ id: 'events', kind: 'cloudevents' });
    const event = new CloudEvent({ id: '1', source: '/m', type: 'alert.fired', data: { number: 7 } });
    const message = HTTP[mode](event);
    const headers = message.headers as Record<string, string>;
    const body = Buffer.from(String(message.body));
    const reading = readCloudEvent(body, headers);
    if (reading.kind !== 'event') throw new Error(reading.detail);
    const signal = signalOfCloudEvent(reading.event, {
      source,
      receivedAt: NOW,
      traceparent: null,
      actor: ACTOR,
    });
    const mediaType =
      Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? '';
    const kept = keptOf(source, signal, body, mediaType, headers);
    expect(kept.headers === null).toBe(mode === 'structured');
    expect(reread(kept)).toEqual({ signal, verdict: null });
  });

  it('I20: a branch that git showed; and what cannot be read says so', () => {
    const source = aSource({ kind: 'git' });
    const data = { ref: 'refs/heads/main', before: null, after: 'a'.repeat(40), repository: 'acme/api' };
    const kept: RecordedMessage = {
      source,
      body: Buffer.from(JSON.stringify(data)),
      mediaType: 'application/json',
      headers: null,
      eventId: 'x/branch/main@a',
      type: 'git.push',
      hookId: null,
      via: 'poll',
      actor: null,
      receivedAt: NOW,
    };
    expect(reread(kept)).toMatchObject({
      signal: { type: 'git.push', eventId: 'x/branch/main@a', inputVersion: 'a'.repeat(40), data },
      verdict: null,
    });
    const strange = { ...kept, body: Buffer.from(JSON.stringify({ ...data, repository: 'acme/gone' })) };
    expect(reread(strange)?.verdict).toMatchObject({ outcome: 'reject', reasonCode: 'MALFORMED' });
  });
});

const HOOK = {
  'content-type': 'application/json',
  'x-github-event': 'pull_request',
  'x-github-delivery': 'guid-1',
};
