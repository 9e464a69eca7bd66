import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkWork,
  deliveryKey,
  formatId,
  formatIdOrNull,
  hash16,
  hashWorkKey,
  MAX_WORK_KEY_BYTES,
  parseId,
  type RunId,
  systemIds,
  taskKey,
} from '../src/index.js';
import { aSignal } from './builders.js';

describe('ids', () => {
  const uuid = fc.uuid({ version: 7 }).map((id) => id as RunId);

  it('Q1: an id survives the way out and back, and carries its kind', () => {
    fc.assert(
      fc.property(uuid, (id) => {
        const text = formatId('run', id);
        expect(text).toMatch(/^run_[0-9a-hjkmnp-tv-z]{26}$/);
        expect(parseId('run', text)).toBe(id);
        expect(parseId('task', text)).toBeNull();
      }),
    );
  });

  it('whatever a person types, reading it never throws', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string().map((tail) => `run_${tail}`),
        ),
        (text) => {
          const id = parseId('run', text);
          if (id !== null) expect(formatId('run', id)).toBe(text);
        },
      ),
      { numRuns: 500 },
    );
    expect(parseId('run', '')).toBeNull();
    expect(parseId('run', 'run_')).toBeNull();
  });

  it('new ids grow, so that newer rows sort last', () => {
    const ids = Array.from({ length: 200 }, () => systemIds.next('run'));
    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids).size).toBe(200);
  });

  it('null stays null', () => {
    expect(formatIdOrNull('run', null)).toBeNull();
    expect(formatIdOrNull('run', systemIds.next('run'))).toMatch(/^run_/);
  });
});

describe('work keys', () => {
  const version = 'v1';

  it.each(['*', 'a:b', '🙂', ' ', '42/pr/7/check/unit', 'x'.repeat(MAX_WORK_KEY_BYTES)])(
    'trigger.dev #4628: the key %j is as good as any other',
    (workKey) => expect(checkWork({ workKey, inputVersion: version })).toEqual({ ok: true }),
  );

  it.each([
    ['', 'The work key is empty.'],
    ['x'.repeat(2_049), 'The work key has 2049 bytes, at most 2048 are allowed.'],
    ['🙂'.repeat(513), 'The work key has 2052 bytes, at most 2048 are allowed.'],
    ['a\u0000b', 'The work key holds a NUL character.'],
    ['\ud800', 'The work key is not well-formed Unicode.'],
  ])('a key that cannot be kept is refused with the reason (%#)', (workKey, problem) => {
    expect(checkWork({ workKey, inputVersion: version })).toEqual({ ok: false, problem });
  });

  it('an empty input version is refused as well', () => {
    expect(checkWork({ workKey: 'a', inputVersion: '' })).toMatchObject({ ok: false });
  });

  it('I4: hashes have a fixed length, depend on the text alone, and tell keys apart', () => {
    const text = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(hashWorkKey(a)).toHaveLength(32);
        expect(hash16(a)).toHaveLength(16);
        expect(hashWorkKey(a).equals(hashWorkKey(a))).toBe(true);
        expect(hashWorkKey(a).equals(hashWorkKey(b))).toBe(a === b);
        expect(hash16(a).equals(hash16(b))).toBe(a === b);
      }),
    );
    expect(hashWorkKey('*').toString('hex')).toBe(
      '684888c0ebb17f374298b65ee2807526c066094c701bcc7ebbe1c1095f494fc1',
    );
  });

  it('no two pairs of tenant and key, or of source and event, share a map key', () => {
    expect(taskKey('a', 'b:c')).not.toBe(taskKey('a:b', 'c'));
    expect(deliveryKey(aSignal({ source: 'a', eventId: 'b/c' }))).not.toBe(
      deliveryKey(aSignal({ source: 'a/b', eventId: 'c' })),
    );
  });
});
