import { freshness, type HeadReading } from '@headgate/sources';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BASE, HEAD } from './deliveries.js';

const MAIN = { kind: 'branch', id: 'main', ref: 'main', aspect: null } as const;
const at = (sha: string): HeadReading => ({ kind: 'head', sha, observedAt: new Date(0) });

describe('freshness of a run’s input', () => {
  it('I6: is fresh while the head is the input version, stale once it moved', () => {
    expect(freshness({ target: MAIN, inputVersion: HEAD }, at(HEAD))).toEqual({ kind: 'fresh' });
    expect(freshness({ target: MAIN, inputVersion: HEAD }, at(BASE))).toMatchObject({
      kind: 'stale',
      reasonCode: 'STALE_INPUT',
      detail: `The branch main stands at ${BASE}, the signal was about ${HEAD}.`,
    });
  });

  it('I6: a target that is gone, closed or merged leaves nothing to do, a sealed result included', () => {
    for (const isSealed of [false, true]) {
      const run = { target: MAIN, inputVersion: HEAD, isSealed };
      expect(freshness(run, { kind: 'gone' })).toMatchObject({ reasonCode: 'TARGET_CLOSED' });
      expect(freshness(run, { kind: 'closed', reason: 'merged' })).toMatchObject({
        reasonCode: 'TARGET_CLOSED',
        detail: 'merged',
      });
    }
  });

  it('leaves a moved head under a sealed result to compare-and-set', () => {
    expect(freshness({ target: MAIN, inputVersion: HEAD, isSealed: true }, at(BASE)).kind).toBe('fresh');
  });

  it('I6: without an answer nothing is known, and the run waits', () => {
    expect(freshness({ target: MAIN, inputVersion: HEAD }, { kind: 'unavailable', detail: 'down' })).toEqual({
      kind: 'unavailable',
      reasonCode: 'SOURCE_UNAVAILABLE',
      detail: 'down',
    });
  });

  it('compares only commits with a head: other versions are fresh while their target is there', () => {
    const version = fc.oneof(
      fc.constantFrom(
        'content:abc',
        'delivery:g',
        `tag:${HEAD}`,
        '2026-11-30T03:00:00.000Z',
        HEAD.slice(0, 12),
      ),
      fc.string().filter((it) => !/^[0-9a-f]{40}$/.test(it)),
    );
    fc.assert(
      fc.property(version, (inputVersion) => {
        expect(freshness({ target: null, inputVersion }, at(BASE))).toEqual({ kind: 'fresh' });
        expect(freshness({ target: null, inputVersion }, { kind: 'gone' }).kind).toBe('stale');
      }),
    );
  });
});
