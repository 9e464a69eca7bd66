import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { queryOf, readFilters, SINCE, STATUSES } from '../src/runs/filters.js';

const NOW_MS = Date.parse('2026-03-29T12:00:00.000Z');

describe('what the runs page is filtered by', () => {
  it('stands in the address, and is read from there', () => {
    const params = new URLSearchParams('status=failed&route=tidy&repository=acme%2Fapi&tab=log&since=');
    expect(readFilters(params)).toEqual({ status: 'failed', route: 'tidy', repository: 'acme/api' });
  });

  it('asks for exactly what the API takes, whatever stands in the address', () => {
    const names = fc.constantFrom('status', 'route', 'repository', 'tenant', 'since', 'waiting', 'cursor');
    const values = fc.oneof(
      fc.string(),
      fc.constantFrom(...STATUSES, ...Object.keys(SINCE), 'READY', '__proto__'),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(names, values), { maxLength: 8 }), (pairs) => {
        const query = queryOf(readFilters(new URLSearchParams(pairs)), NOW_MS);
        if (query.publicStatus !== undefined) expect(STATUSES).toContain(query.publicStatus);
        if (query.waitingReason !== undefined) expect(query.waitingReason).toMatch(/^[A-Z_]+$/);
        if (query.since !== undefined) expect(Date.parse(query.since)).toBeLessThan(NOW_MS);
        expect(query).not.toHaveProperty('cursor');
        expect(Object.values(query)).not.toContain(undefined);
        expect(Object.values(query)).not.toContain('');
      }),
    );
  });

  it('makes of a length of time the instant at which it begins', () => {
    expect(queryOf({ since: '24h' }, NOW_MS)).toEqual({ since: '2026-03-28T12:00:00.000Z' });
    expect(queryOf({ since: 'ever' }, NOW_MS)).toEqual({});
    expect(queryOf({ since: 'toString' }, NOW_MS)).toEqual({});
  });
});
