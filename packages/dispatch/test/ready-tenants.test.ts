import type { RunId } from '@headgate/domain';
import { describe, expect, it } from 'vitest';
import { ReadyTenants } from '../src/ready-tenants.js';

const pair = (queueId: number, tenantId = 1) => ({ queueId, tenantId });
const nothing = { heads: 0, isFull: false, chosen: 0, last: null, mayHide: false };
const last = { rankAt: new Date(1_000), runId: 'r' as RunId };

describe('what is believed to be ready', () => {
  it('a pair that holds nothing is forgotten', () => {
    const ready = new ReadyTenants();
    ready.note([pair(1), pair(2)]);
    ready.next(10);
    ready.learn(pair(1), nothing);
    expect(ready.next(10)).toEqual([{ ...pair(2), after: null }]);
  });

  it('a pair that was noted while a turn read is not forgotten', () => {
    const ready = new ReadyTenants();
    ready.note([pair(1)]);
    ready.next(10);
    ready.note([pair(1)]);
    ready.learn(pair(1), nothing);
    expect(ready.size).toBe(1);
    ready.next(10);
    ready.learn(pair(1), nothing);
    expect(ready.size).toBe(0);
  });

  it('a pair whose items may be hidden behind a full key stays until a scan', () => {
    const ready = new ReadyTenants();
    ready.note([pair(1)]);
    ready.next(10);
    ready.learn(pair(1), { ...nothing, mayHide: true });
    expect(ready.size).toBe(1);
    ready.replace([], ready.notes());
    expect(ready.size).toBe(0);
  });

  it('a pair that was noted while a scan read stays', () => {
    const ready = new ReadyTenants();
    ready.note([pair(1), pair(2)]);
    const before = ready.notes();
    ready.note([pair(2), pair(3)]);
    ready.replace([pair(4)], before);
    expect(ready.next(10).map((one) => one.queueId)).toEqual([2, 3, 4]);
  });

  it('reads on behind blocked heads, starts over at the end, and forgets only after that', () => {
    const ready = new ReadyTenants();
    ready.note([pair(1)]);
    ready.next(10);
    ready.learn(pair(1), { ...nothing, heads: 200, isFull: true, last });
    expect(ready.readsOn).toBe(true);
    expect(ready.next(10)).toEqual([{ ...pair(1), after: last }]);
    ready.learn(pair(1), nothing);
    expect(ready.readsOn).toBe(false);
    expect(ready.next(10)).toEqual([{ ...pair(1), after: null }]);
  });

  it('asks those first that were asked longest ago', () => {
    const ready = new ReadyTenants();
    ready.note([pair(1), pair(2), pair(3)]);
    expect(ready.next(2).map((one) => one.queueId)).toEqual([1, 2]);
    expect(ready.next(2).map((one) => one.queueId)).toEqual([3, 1]);
  });
});
