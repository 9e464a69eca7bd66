import {
  allSamples,
  identify,
  isKnownGithubEvent,
  isPing,
  readWebhook,
  verifySignature,
} from '@headgate/sources';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { headersFor, payloadOf, RECEIVED_AT, readBytes, readJson, signalOf, signed } from './deliveries.js';

const FORM = 'application/x-www-form-urlencoded';

describe('reading a GitHub delivery', () => {
  it('I3: every published example, signed, becomes a signal of its source, type, actor and repository', () => {
    const samples = allSamples();
    expect(samples.length).toBeGreaterThan(300);
    for (const { event, name, payload } of samples) {
      const rawBody = Buffer.from(JSON.stringify(payload));
      expect(verifySignature(rawBody, signed(rawBody, 's'), ['s']).ok).toBe(true);
      const reading = readBytes(rawBody, { event });
      if (reading.kind !== 'signal') throw new Error(`${name}: ${JSON.stringify(reading)}`);
      const { signal } = reading;
      const action = payload['action'];
      expect(signal.type, name).toBe(
        typeof action === 'string' ? `github.${event}.${action}` : `github.${event}`,
      );
      expect(signal.repository === null, name).toBe(payload['repository'] === undefined);
      expect(signal.actor === null, name).toBe(payload['sender'] === undefined);
      expect(signal.data, name).toEqual(payload);
      expect(isKnownGithubEvent(signal.type), name).toBe(true);
      if (signal.repository !== null && !isPing(signal.type)) {
        const identified = identify(signal);
        expect(['work', 'unresolved'], name).toContain(identified.kind);
        if (identified.kind === 'unresolved') {
          expect(['HEAD_UNRESOLVED', 'TARGET_CLOSED'], name).toContain(identified.reasonCode);
        }
      }
    }
  });

  it('I4: a delivery is known by hook and GUID, by the GUID alone where the hook is not named', () => {
    expect(signalOf({}, { guid: 'g', hookId: '7' }).eventId).toBe('7/g');
    expect(signalOf({}, { guid: 'g', hookId: '8' }).eventId).toBe('8/g');
    expect(signalOf({}, { guid: 'g', hookId: null })).toMatchObject({ eventId: 'g', hookId: null });
  });

  it('I20: unknown fields stay, and an unknown event is a signal that says what it was called', () => {
    const signal = signalOf({ action: 'melted', brandNew: { deep: [1, { a: '🌊' }] } }, { event: 'glacier' });
    expect(signal.type).toBe('github.glacier.melted');
    expect(signal.data).toEqual({ action: 'melted', brandNew: { deep: [1, { a: '🌊' }] } });
    expect(isKnownGithubEvent(signal.type)).toBe(false);
    expect(isKnownGithubEvent('github.constructor')).toBe(false);
    expect(isKnownGithubEvent('schedule.tick')).toBe(false);
  });

  it('I20: fields of an unexpected shape cost knowledge, not the signal', () => {
    const odd = {
      action: 7,
      repository: { id: 'x' },
      sender: [],
      check_run: { name: 'unit', head_sha: 5, pull_requests: {} },
    };
    expect(signalOf(odd)).toMatchObject({
      type: 'github.check_run',
      repository: null,
      actor: null,
      inputVersion: null,
    });
    expect(signalOf({ check_run: null }).target).toBeNull();
  });

  it('knows a ping', () => {
    const signal = signalOf(payloadOf('ping#0'), { event: 'ping' });
    expect(isPing(signal.type)).toBe(true);
    expect(signal.target).toBeNull();
  });

  it('reads a form to the same signal as JSON', () => {
    const payload = { ...payloadOf('check_run.completed#0'), note: 'a+b & c=d % é 🌊' };
    const form = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    const reading = readBytes(Buffer.from(form), { headers: { 'content-type': FORM } });
    expect(reading).toEqual(readJson(payload));
  });

  it.each([
    ['the payload field is missing', 'other=1'],
    ['there are two payload fields', 'payload=%7B%7D&payload=%7B%7D'],
    ['the encoding is broken', 'payload=%zz'],
    ['the encoded bytes are not UTF-8', 'payload=%ff'],
    ['the field is empty', 'payload='],
  ])('says malformed of a form in which %s', (_, form) => {
    expect(readBytes(Buffer.from(form), { headers: { 'content-type': FORM } }).kind).toBe('malformed');
  });

  it.each([
    ['nothing', ''],
    ['cut JSON', '{"a":'],
    ['an array', '[]'],
    ['a number', '1'],
    ['null', 'null'],
    ['text that is not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])],
    ['a raw NUL byte', '{"a":"\u0000"}'],
    ['an escaped NUL', '{"a":["x","\\u0000"]}'],
    ['a NUL in a key', '{"\\u0000":1}'],
    ['half a surrogate pair', '{"a":"\\ud83c"}'],
    ['101 levels', `${'{"a":'.repeat(101)}1${'}'.repeat(101)}`],
    ['a million open brackets', '['.repeat(1_000_000)],
  ])('says malformed, with the delivery still named, of %s', (_, body) => {
    const reading = readBytes(Buffer.from(body), { guid: 'g', hookId: '7', event: 'push' });
    expect(reading).toMatchObject({ kind: 'malformed', signal: { eventId: '7/g', type: 'github.push' } });
    if (reading.kind === 'malformed') {
      expect(reading.signal).toMatchObject({
        source: 'acme',
        eventId: '7/g',
        data: null,
        receivedAt: RECEIVED_AT,
      });
    }
  });

  it('reads what only looks odd: 100 levels, brackets and escapes inside texts, a byte order mark', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`);
    const texts = { a: `"${'['.repeat(500)}\\`, b: '\u2028 \\u0000 🌊' };
    expect(signalOf(deep).data).toEqual(deep);
    expect(signalOf(texts).data).toEqual(texts);
    expect(readBytes(Buffer.from('\ufeff{"a":1}')).kind).toBe('signal');
  });

  it('leaves no __proto__ key for a later merge to obey, however it is spelt', () => {
    for (const key of ['__proto__', '\\u005f_proto__', '__p\\u0072oto__']) {
      const reading = readBytes(Buffer.from(`{"list":[{"${key}":{"admin":true},"kept":1}]}`));
      if (reading.kind !== 'signal') throw new Error(key);
      expect(JSON.stringify(reading.signal.data)).toBe('{"list":[{"kept":1}]}');
    }
    expect(Reflect.get({}, 'admin')).toBeUndefined();
  });

  it.each([
    ['X-GitHub-Event', { 'x-github-event': undefined }],
    ['X-GitHub-Event', { 'x-github-event': 'a b' }],
    ['X-GitHub-Delivery', { 'x-github-delivery': undefined }],
    ['X-GitHub-Delivery', { 'x-github-delivery': 'a/b' }],
    ['X-GitHub-Hook-ID', { 'x-github-hook-id': 'ünï' }],
  ])('says malformed when %s is missing or odd', (name, headers) => {
    const reading = readJson({ a: 1 }, { headers });
    expect(reading).toMatchObject({ kind: 'malformed', detail: expect.stringContaining(name) });
  });

  it('knows a delivery without GUID by its bytes, so that sent again it is the same one', () => {
    const nameless = { headers: { 'x-github-delivery': undefined } };
    const [first, again, other] = [
      readJson({ a: 1 }, nameless),
      readJson({ a: 1 }, nameless),
      readJson({ a: 2 }, nameless),
    ];
    if (first.kind !== 'malformed' || other.kind !== 'malformed') throw new Error('not malformed');
    expect(again).toEqual(first);
    expect(other.signal.eventId).not.toBe(first.signal.eventId);
  });

  it.each([undefined, 'text/plain', 'application/xml', 'application/json; charset=utf-16'])(
    'does not read the media type %s',
    (type) => {
      expect(readJson({}, { headers: { 'content-type': type } })).toMatchObject({
        kind: 'malformed',
        isMedia: true,
      });
    },
  );

  it('reads media types with parameters and in any case', () => {
    expect(readJson({}, { headers: { 'content-type': 'Application/JSON; charset="UTF-8"' } }).kind).toBe(
      'signal',
    );
  });

  it('carries a trace context on, and only a well-formed one', () => {
    const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
    const read = (given: string) =>
      readWebhook({
        sourceId: 'acme',
        rawBody: Buffer.from('{}'),
        headers: headersFor({}),
        receivedAt: RECEIVED_AT,
        traceparent: given,
      });
    expect(read(traceparent)).toMatchObject({ signal: { traceparent } });
    expect(read('<script>')).toMatchObject({ signal: { traceparent: null } });
  });

  it('never throws, whatever the bytes', () => {
    const types = fc.constantFrom('application/json', FORM, 'text/plain', '');
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300 }),
        types,
        fc.string(),
        fc.string(),
        (bytes, type, event, guid) => {
          const headers = { 'content-type': type };
          const { kind } = readBytes(bytes, { event, guid, headers });
          expect(['signal', 'malformed']).toContain(kind);
        },
      ),
    );
  });

  it('never throws, whatever JSON stands where its fields are', () => {
    const event = fc.constantFrom(
      'check_run',
      'check_suite',
      'workflow_run',
      'workflow_job',
      'status',
      'push',
      'create',
      'merge_group',
      'pull_request',
      'pull_request_review',
      'pull_request_review_comment',
      'pull_request_review_thread',
      'issues',
      'issue_comment',
      'release',
    );
    const field = fc.constantFrom(
      'action',
      'check_run',
      'check_suite',
      'workflow_run',
      'workflow_job',
      'pull_request',
      'pull_requests',
      'issue',
      'comment',
      'review',
      'thread',
      'comments',
      'repository',
      'sender',
      'head',
      'base',
      'repo',
      'id',
      'number',
      'name',
      'ref',
      'sha',
      'head_sha',
      'head_branch',
      'after',
      'before',
      'created_at',
      'updated_at',
      'app',
      'branches',
      'full_name',
      'title',
      'body',
    );
    const { node } = fc.letrec((tie) => ({
      node: fc.oneof(
        { depthSize: 'small' },
        fc.jsonValue(),
        fc.integer(),
        fc.constant('2026-01-01T00:00:00Z'),
        fc.constant('a1'.repeat(20)),
        fc.dictionary(field, tie('node'), { maxKeys: 8 }),
      ),
    }));
    fc.assert(
      fc.property(event, fc.dictionary(field, node, { maxKeys: 10 }), (name, payload) => {
        const reading = readJson(payload, { event: name });
        if (reading.kind !== 'signal') return;
        identify(reading.signal, { id: 'route' });
        const instants = [reading.signal.emittedAt, reading.signal.sourceAt];
        for (const instant of instants) if (instant !== null) expect(instant.getTime()).not.toBeNaN();
      }),
      { numRuns: 300 },
    );
  });
});
