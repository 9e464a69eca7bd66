import { describe, expect, it } from 'vitest';
import { decideOverlap, type OverlapPolicy } from '../src/index.js';
import { runIdOf } from './builders.js';

const POLICIES: readonly OverlapPolicy[] = [
  'skip',
  'bufferOne',
  'bufferAll',
  'cancelOther',
  'terminateOther',
  'allowAll',
];
const live = (running: number, buffered = 0) => ({
  running: Array.from({ length: running }, (_, index) => runIdOf(String(index))),
  buffered,
});

describe('I2: overlap', () => {
  it.each(POLICIES)('I2: %s: with nothing under way the tick starts', (policy) => {
    expect(decideOverlap(policy, live(0))).toEqual({ kind: 'start' });
  });

  it('I2: skip: nothing starts and nothing is kept, while one runs or waits', () => {
    const skipped = { kind: 'skip', reasonCode: 'OVERLAP_SKIPPED' };
    expect(decideOverlap('skip', live(1))).toEqual(skipped);
    expect(decideOverlap('skip', live(0, 1))).toEqual(skipped);
  });

  it('I2: bufferOne: one tick is kept, further ones are skipped', () => {
    expect(decideOverlap('bufferOne', live(1))).toEqual({ kind: 'buffer' });
    expect(decideOverlap('bufferOne', live(1, 1))).toMatchObject({ kind: 'skip' });
    expect(decideOverlap('bufferOne', live(0, 1))).toMatchObject({ kind: 'skip' });
  });

  it('I2: bufferAll: every tick is kept', () => {
    expect(decideOverlap('bufferAll', live(1, 7))).toEqual({ kind: 'buffer' });
  });

  it('I2: cancelOther and terminateOther: all that run are stopped, gracefully or at once', () => {
    const { running } = live(2);
    expect(decideOverlap('cancelOther', live(2))).toEqual({
      kind: 'replace',
      stop: running,
      gracefully: true,
    });
    expect(decideOverlap('terminateOther', live(2))).toEqual({
      kind: 'replace',
      stop: running,
      gracefully: false,
    });
  });

  it('I2: allowAll: it starts beside any number', () => {
    expect(decideOverlap('allowAll', live(9, 9))).toEqual({ kind: 'start' });
  });
});
