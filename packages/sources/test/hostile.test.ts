/** Whatever bytes and headers come, every kind answers with a value: never an exception, never a polluted prototype. */
import type { SourceKind } from '@headgate/domain';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type HookReading,
  identify,
  judgeSignal,
  malformedCloudEvent,
  moduleOf,
  readCloudEvent,
  signalOfCloudEvent,
} from '../src/index.js';
import { parseBoundedJson } from '../src/json/bounded.js';
import { aSource } from './sources.js';

const NOW = new Date('2026-11-30T10:00:00Z');
const actor = { kind: 'token', id: '1', name: 'ci' } as const;

/** What the three kinds that are sent something make of a request. */
function readAs(kind: SourceKind, rawBody: Uint8Array, headers: Record<string, string>): HookReading {
  const source = aSource({ kind, replayWindowMs: 60_000 });
  const asked = { source, receivedAt: NOW, traceparent: headers['traceparent'] ?? null };
  const { hook } = moduleOf(source);
  if (hook !== null) {
    hook.verify({ ...asked, rawBody, headers }, ['a secret', '', 'whsec_']);
    return hook.read({ ...asked, rawBody, headers });
  }
  const reading = readCloudEvent(rawBody, headers);
  if (reading.kind === 'event') {
    return { kind: 'signal', signal: signalOfCloudEvent(reading.event, { ...asked, actor }) };
  }
  const signal = malformedCloudEvent(rawBody, { ...asked, actor });
  return { kind: 'malformed', detail: reading.detail, isMedia: reading.kind === 'unsupported-media', signal };
}

const KINDS = ['github', 'standard-webhooks', 'cloudevents'] as const;

const TYPES = [
  'application/json',
  'application/cloudevents+json',
  'application/x-www-form-urlencoded',
  'text/plain; charset=utf-16',
  'application/cloudevents-batch+json',
];
const NAMES = [
  ...['x-github-event', 'x-github-delivery', 'x-github-hook-id', 'x-hub-signature-256', 'traceparent'],
  ...[
    'webhook-id',
    'webhook-timestamp',
    'webhook-signature',
    'ce-id',
    'ce-source',
    'ce-type',
    'ce-specversion',
  ],
  ...['ce-time', 'ce-subject', 'ce-constructor', 'ce-__proto__', '__proto__'],
];
const words = fc.constantFrom(
  'push',
  '1.0',
  'a/b',
  '%',
  '%ff',
  '%00',
  '\u0000',
  '😀',
  'check_run',
  '2026-11-30T10:00:00Z',
);
const headers = fc
  .tuple(
    fc.constantFrom(...TYPES),
    fc.dictionary(fc.constantFrom(...NAMES), fc.oneof(words, fc.string({ maxLength: 300 }))),
  )
  .map(([type, others]) => ({ ...others, 'content-type': type }));

const KEYS = [
  ...[
    'repository',
    'sender',
    'action',
    'id',
    'full_name',
    'check_run',
    'pull_request',
    'head',
    'base',
    'repo',
  ],
  ...['data', 'type', 'source', 'specversion', 'time', 'subject', 'branch', 'commit', 'timestamp', 'number'],
  ...['__proto__', 'constructor', 'prototype', 'toString'],
];
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(
      null,
      true,
      1e308,
      -1,
      2 ** 53 + 1,
      '\ud800',
      'a\u0000b',
      'ab'.repeat(20),
      '0'.repeat(40),
      '1.0',
    ),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.double(),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...KEYS), tie('value'), { maxKeys: 8 }),
  ),
})).value;
const bodies = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  json.map((value) => Buffer.from(JSON.stringify(value))),
  json.map((value) => Buffer.from(new URLSearchParams({ payload: JSON.stringify(value) ?? '' }).toString())),
  fc
    .constantFrom(
      '{"a":1,"a":2}',
      '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
      '{"\\u005f_proto__":{"polluted":true}}',
      '{"a":1e999}',
      '{"a":"\\ud800"}',
      '{"a":"\\u0000"}',
      `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
      `{"a":${'{"a":'.repeat(5_000)}1${'}'.repeat(5_001)}`,
      '\ufeff{}',
      'payload=%7B%7D&payload=%7B%7D',
      'payload=%E0%A4%A',
      `{"repository":{"id":${'9'.repeat(400)},"full_name":"a/b"}}`,
    )
    .map((text) => Buffer.from(text)),
);

const isStorable = (text: string): boolean => !text.includes('\u0000') && !/\p{Surrogate}/u.test(text);

describe.each(KINDS)('hostile input to %s', (kind) => {
  it('I20: any bytes under any headers become a signal or a malformed one, that can be kept', () => {
    fc.assert(
      fc.property(bodies, headers, (body, sent) => {
        const reading = readAs(kind, body, sent);
        expect(['signal', 'malformed']).toContain(reading.kind);
        const { signal } = reading;
        expect(signal.eventId.length).toBeGreaterThan(0);
        expect(signal.eventId.length).toBeLessThanOrEqual(700);
        for (const text of [signal.eventId, signal.type, signal.inputVersion ?? '', signal.subject ?? '']) {
          expect(isStorable(text)).toBe(true);
        }
        if (reading.kind === 'signal') {
          expect(isStorable(JSON.stringify(signal.data) ?? '')).toBe(true);
          expect(['work', 'unresolved']).toContain(identify(signal).kind);
          judgeSignal(aSource({ kind }), signal);
        } else expect(signal.data).toBeNull();
        expect(Reflect.get({}, 'polluted')).toBeUndefined();
      }),
      { numRuns: 400 },
    );
  });

  it('I4: the same bytes are the same delivery', () => {
    fc.assert(
      fc.property(bodies, headers, (body, sent) => {
        expect(readAs(kind, body, sent)).toEqual(readAs(kind, body, sent));
      }),
      { numRuns: 100 },
    );
  });
});

describe('JSON from outside', () => {
  const TWICE = 'The JSON holds a key twice in one object.';

  it('never holds a key twice, however it is written', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(parseBoundedJson(JSON.stringify(value))).not.toMatchObject({ detail: TWICE });
      }),
    );
    for (const text of [
      '{"a":1,"a":1}',
      '{"b":{"a":1},"c":[{"x":0,"y":"}","x":0}]}',
      '{"\\u0061":1,"a":2}',
      '{"__proto__":{"a":1},"__proto__":{}}',
      '{"a\\\\":1,"a\\\\":{"b":":"}}',
    ]) {
      expect(parseBoundedJson(text), text).toMatchObject({ kind: 'unreadable', detail: TWICE });
    }
    for (const text of [
      '[{"a":1},{"a":1}]',
      '{"a":{"a":{"a":"a"}}}',
      '{"a":"\\"a\\":1","b":["a","a"]}',
      '{"a\\\\":"\\\\","b":{"__proto__":{"c":1}}}',
    ]) {
      expect(parseBoundedJson(text), text).toMatchObject({ kind: 'json' });
    }
  });

  it('holds no number beyond a double', () => {
    for (const text of ['{"a":1e400}', '[-1e+0999]', `[${'9'.repeat(310)}]`]) {
      expect(parseBoundedJson(text)).toMatchObject({ detail: 'The JSON holds a number that is too large.' });
    }
    expect(parseBoundedJson('[1e308,1e-400]')).toEqual({ kind: 'json', value: [1e308, 0] });
  });
});
