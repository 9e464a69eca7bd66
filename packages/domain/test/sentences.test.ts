import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  counted,
  durationInWords,
  messageOf,
  numbersInWords,
  quoted,
  REASON_CODES,
  sentence,
} from '../src/index.js';

it('a sentence carries the numbers that made it true, and what was seen', () => {
  expect(sentence('TENANT_AT_LIMIT')).toBe(messageOf('TENANT_AT_LIMIT'));
  expect(sentence('TENANT_AT_LIMIT', { numbers: { held: 3, limit: 3, ahead: 2 } })).toBe(
    'The tenant has as many active runs as it may have (3 of 3, ahead 2).',
  );
  expect(sentence('NOT_ELIGIBLE', { detail: 'The check passed' })).toBe(
    "The route's condition is not met. The check passed.",
  );
});

it('every sentence ends as one, whatever is added', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...REASON_CODES),
      fc.option(fc.constantFrom('A detail', 'A detail.', '  ', 'Really?')),
      fc.dictionary(fc.constantFrom('held', 'limit', 'freeSlots'), fc.nat(9)),
      (code, detail, numbers) => {
        const text = sentence(code, { detail, numbers });
        expect(text).toMatch(/[^.][.!?]$/);
        for (const value of Object.values(numbers)) expect(text).toContain(String(value));
      },
    ),
  );
});

it('numbers are named in words', () => {
  expect(numbersInWords({ freeSlots: 0 })).toBe('free slots 0');
  expect(numbersInWords({ limit: 5 })).toBe('limit 5');
  expect(counted(1, 'run')).toBe('1 run');
  expect(counted(0, 'run')).toBe('0 runs');
  expect(counted(2, 'retry', 'retries')).toBe('2 retries');
});

it.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_000, '1 s'],
  [150_000, '2 min 30 s'],
  [3_600_000, '1 h'],
  [3_605_000, '1 h'],
  [93_600_000, '1 d 2 h'],
  [-5, '0 ms'],
])('%d ms reads as %s', (ms, text) => {
  expect(durationInWords(ms)).toBe(text);
});

it('foreign text is shortened by characters, and cannot bring control characters along', () => {
  expect(quoted('a\nb\u0000c\u202ed')).toBe('"a b c d"');
  expect(quoted('🙂'.repeat(90))).toBe(`"${'🙂'.repeat(80)}…"`);
});
