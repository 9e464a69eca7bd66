import type { Run } from '@headgate/sdk';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  firstPageOnly,
  newerThan,
  type RunPages,
  runsOf,
  withFresh,
  withNewer,
} from '../src/runs/run-list.js';
import { aRun } from './a-run.js';

const pagesOf = (...pages: readonly (readonly Run[])[]): RunPages => ({
  pages: pages.map((items, index) => ({
    items: [...items],
    nextCursor: index === pages.length - 1 ? null : `page ${index + 1}`,
  })),
  pageParams: pages.map((_, index) => (index === 0 ? undefined : `page ${index}`)),
});
const ids = (data: RunPages): readonly string[] => runsOf(data).map((run) => run.id);
const someRuns = fc
  .uniqueArray(
    fc.nat(60).map((n) => `run_${n}`),
    { maxLength: 30 },
  )
  .map((list) => list.map((id) => aRun({ id })));

describe('the list of runs', () => {
  it('keeps every row in its place when it is read again', () => {
    fc.assert(
      fc.property(someRuns, someRuns, fc.nat(20), (runs, fresh, cut) => {
        const data = pagesOf(runs.slice(0, cut), runs.slice(cut));
        const changed = fresh.map((run) => ({ ...run, attempt: 7 }));
        const after = withFresh(data, changed);
        expect(ids(after)).toEqual(ids(data));
        const known = new Set(fresh.map((run) => run.id));
        for (const run of runsOf(after)) expect(run.attempt).toBe(known.has(run.id) ? 7 : 0);
      }),
    );
  });

  it('takes in at its head what is new, once, and loses nothing', () => {
    fc.assert(
      fc.property(someRuns, someRuns, fc.nat(20), (runs, newest, cut) => {
        const data = pagesOf(runs.slice(0, cut), runs.slice(cut));
        const { runs: newer } = newerThan(data, { items: newest, nextCursor: null });
        const after = withNewer(data, newer);
        expect(new Set(ids(after)).size).toBe(ids(after).length);
        expect(ids(after).slice(newer.length)).toEqual(ids(data));
        expect(new Set(ids(after))).toEqual(new Set([...runs, ...newest].map((run) => run.id)));
        expect(ids(withNewer(after, newer))).toEqual(ids(after));
      }),
    );
  });

  it('sees a gap only where none of the newest is known and there are more', () => {
    const data = pagesOf([aRun({ id: 'run_1' })]);
    const newest = [aRun({ id: 'run_9' }), aRun({ id: 'run_8' })];
    expect(newerThan(data, { items: newest, nextCursor: 'more' }).isGap).toBe(true);
    expect(newerThan(data, { items: newest, nextCursor: null }).isGap).toBe(false);
    expect(newerThan(data, { items: [...newest, aRun({ id: 'run_1' })], nextCursor: 'more' }).isGap).toBe(
      false,
    );
    expect(newerThan(data, { items: [aRun({ id: 'run_1' })], nextCursor: 'more' }).isGap).toBe(false);
  });

  it('goes back to its first page', () => {
    const data = pagesOf([aRun({ id: 'run_2' })], [aRun({ id: 'run_1' })]);
    expect(firstPageOnly(data)).toEqual({ pages: [data.pages[0]], pageParams: [undefined] });
    expect(firstPageOnly(undefined)).toBeUndefined();
  });
});
