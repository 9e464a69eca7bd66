import fc from 'fast-check';
import { expect, it } from 'vitest';
import { order, type SourceOrder, type VersionPoint } from '../src/index.js';
import { minute } from './builders.js';

const names = ['a', 'b', 'c'];
const point: fc.Arbitrary<VersionPoint> = fc.record({
  inputVersion: fc.constantFrom(...names),
  sourceAt: fc.option(fc.integer({ min: 0, max: 3 }).map(minute), { nil: null }),
  parentVersions: fc.subarray(names),
});
const MIRROR: Readonly<Record<SourceOrder, SourceOrder>> = {
  newer: 'older',
  older: 'newer',
  same: 'same',
  unknown: 'unknown',
};

it('the order of b to a is the mirror of the order of a to b', () => {
  fc.assert(
    fc.property(point, point, (a, b) => {
      expect(order(b, a)).toBe(MIRROR[order(a, b)]);
    }),
  );
});

it('a version is the same as itself, whatever else is said about it', () => {
  fc.assert(
    fc.property(point, point, (a, b) => {
      expect(order(a, { ...b, inputVersion: a.inputVersion })).toBe('same');
    }),
  );
});

it('the parent chain decides against the times', () => {
  const old = { inputVersion: 'a', sourceAt: minute(9), parentVersions: [] };
  expect(order({ inputVersion: 'b', sourceAt: minute(1), parentVersions: ['a'] }, old)).toBe('newer');
});

it('without a parent chain the times decide, and equal or missing times leave it unknown', () => {
  const at = (inputVersion: string, sourceAt: Date | null) => ({
    inputVersion,
    sourceAt,
    parentVersions: [],
  });
  expect(order(at('b', minute(2)), at('a', minute(1)))).toBe('newer');
  expect(order(at('b', minute(1)), at('a', minute(1)))).toBe('unknown');
  expect(order(at('b', minute(1)), at('a', null))).toBe('unknown');
});

it('two versions that name each other as parents are ordered by time alone', () => {
  const a = { inputVersion: 'a', sourceAt: minute(1), parentVersions: ['b'] };
  const b = { inputVersion: 'b', sourceAt: minute(2), parentVersions: ['a'] };
  expect(order(b, a)).toBe('newer');
  expect(order({ ...b, sourceAt: null }, a)).toBe('unknown');
});
