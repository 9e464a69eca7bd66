import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keyPrefixOf, ownKeysPattern, queueNameOf } from '../src/names.js';

describe('queue names', () => {
  it('Q21: are the queue ids of the configuration, so that people recognise them', () => {
    expect(queueNameOf('default')).toBe('default');
    expect(queueNameOf('high-risk.jdk_21')).toBe('high-risk.jdk_21');
  });

  it('are legal for BullMQ and different for different ids, whatever the ids', () => {
    const anyId = fc.string({ unit: 'grapheme', minLength: 1 });
    fc.assert(
      fc.property(anyId, anyId, (one, other) => {
        expect(queueNameOf(one)).toMatch(/^[A-Za-z0-9._~-]+$/);
        expect(queueNameOf(one) === queueNameOf(other)).toBe(one === other);
      }),
    );
    expect(queueNameOf('a:b')).not.toBe(queueNameOf('a~3ab'));
  });

  it('need an id', () => {
    expect(() => queueNameOf('')).toThrow('needs an id');
  });
});

describe('key prefixes', () => {
  it('get one hash tag, so that a cluster keeps all keys of a queue in one slot', () => {
    expect(keyPrefixOf('{headgate}')).toBe('{headgate}');
    expect(keyPrefixOf('test-7')).toBe('{test-7}');
    expect(keyPrefixOf('{headgate}-b')).toBe('{headgate}-b');
  });

  it.each(['', 'a:b', '{a', 'a}', '{}', '{a}{b}'])('refuse %j', (prefix) => {
    expect(() => keyPrefixOf(prefix)).toThrow('cannot be a Redis key prefix');
  });

  it('are matched literally when our keys are removed', () => {
    expect(ownKeysPattern('{a*b[c]?}')).toBe('{a\\*b\\[c\\]\\?}:*');
  });
});
