import { type Arrival, simulate } from '@headgate/admission';
import { systemIds } from '@headgate/domain';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHECKS, policyFrom, withRoute } from '../../../test/world/policy.js';
import { aSignal, sha } from '../../../test/world/signals.js';

const MINUTE_MS = 60_000;
const START = Date.UTC(2026, 0, 1);
const QUIET_MS = 2 * MINUTE_MS;
const MAX_MS = 10 * MINUTE_MS;

/** The n-th version of one check, received so many seconds after the one before. */
const arrivalsOf = (gapsSeconds: readonly number[]): readonly Arrival[] => {
  let atMs = START;
  return gapsSeconds.map((gap, n): Arrival => {
    atMs += gap * 1_000;
    const at = new Date(atMs);
    const signal = aSignal({
      eventId: `1/${n}`,
      receivedAt: at,
      sourceAt: at,
      inputVersion: sha((n % 10).toString()).slice(0, 36) + String(n).padStart(4, '0'),
    });
    return { at, submission: { signal, tenant: 'default', payload: null } };
  });
};

describe('signals over time, decided by the real code in memory', () => {
  it('I8: a debounced route runs the newest version of each burst, once, neither before it is quiet nor after the bound', async () => {
    const policy = withRoute(await policyFrom(CHECKS), { debounce: { quietMs: QUIET_MS, maxMs: MAX_MS } });
    const gaps = fc.array(fc.integer({ min: 1, max: 240 }), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(gaps, (gapsSeconds) => {
        const arrivals = arrivalsOf(gapsSeconds);
        const decided = simulate(arrivals, {
          policy,
          ids: systemIds,
          until: new Date(START + 86_400_000),
          durationMs: () => MINUTE_MS,
        });
        const waiting = decided.filter(({ reasonCode }) => reasonCode === 'DEBOUNCED');
        const runs = decided.filter(({ run }) => run !== null);
        expect(waiting).toHaveLength(arrivals.length);
        expect(runs.length).toBeGreaterThan(0);
        expect(runs.at(-1)?.arrival).toBe(arrivals.length - 1);
        let firstOfBurst = 0;
        for (const run of runs) {
          const newest = arrivals[run.arrival]?.at.getTime() ?? 0;
          const first = arrivals[firstOfBurst]?.at.getTime() ?? 0;
          expect(run.at.getTime()).toBe(Math.min(newest + QUIET_MS, Math.max(newest, first + MAX_MS)));
          firstOfBurst = run.arrival + 1;
        }
        expect(firstOfBurst).toBe(arrivals.length);
      }),
    );
  });

  it('I4: whatever the order, a version is run at most once, and with every rule the newest has the last word', async () => {
    const base = await policyFrom(CHECKS);
    const rule = fc.constantFrom('reject', 'useExisting', 'queueOne', 'cancelOther', 'allow');
    const order = fc.shuffledSubarray([0, 1, 2, 3, 4, 5], { minLength: 6 });
    fc.assert(
      fc.property(rule, order, fc.integer({ min: 1, max: 200 }), (onNewVersion, picks, gap) => {
        const versions = arrivalsOf([10, 10, 10, 10, 10, 10]);
        const arrivals = picks.map((pick, n): Arrival => {
          const at = new Date(START + n * gap * 1_000);
          const { submission } = versions[pick] ?? versions[0] ?? { submission: null };
          if (submission === null) throw new Error('no version');
          return { at, submission: { ...submission, signal: { ...submission.signal, eventId: `2/${n}` } } };
        });
        const decided = simulate(arrivals, {
          policy: withRoute(base, { onNewVersion }),
          ids: systemIds,
          until: new Date(START + 86_400_000),
          durationMs: () => MINUTE_MS,
        });
        const ran = decided.filter(({ run }) => run !== null).map(({ arrival }) => picks[arrival] ?? -1);
        expect(new Set(ran).size).toBe(ran.length);
        if (onNewVersion === 'reject' || onNewVersion === 'useExisting') return;
        expect(ran).toContain(5);
        expect(ran.at(-1)).toBe(Math.max(...ran));
      }),
    );
  });
});
