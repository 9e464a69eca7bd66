import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type FinishResult,
  finishPath,
  isCancelling,
  isLeased,
  isLegal,
  isTerminal,
  isWaiting,
  PLACE,
  RUN_STATUSES,
} from '../src/index.js';

const RESULTS: readonly FinishResult[] = [
  { kind: 'succeeded' },
  { kind: 'failed', retry: true },
  { kind: 'failed', retry: false },
  { kind: 'lease-lost', retry: true },
  { kind: 'lease-lost', retry: false },
  { kind: 'handed-back' },
  { kind: 'no-work' },
  { kind: 'policy-denied' },
  { kind: 'needs-approval' },
  { kind: 'cancel-requested' },
  { kind: 'cancelled' },
  { kind: 'superseded' },
  { kind: 'expired' },
];
const status = fc.constantFrom(...RUN_STATUSES);
const result = fc.constantFrom(...RESULTS);

it('Q10: every step of every path is legal, and the last one is a place of rest', () => {
  fc.assert(
    fc.property(status, result, (from, how) => {
      let at = from;
      for (const to of finishPath(from, how)) {
        expect(isLegal(at, to)).toBe(true);
        at = to;
      }
      if (at !== from) expect(PLACE[at]).not.toBe('never');
    }),
    { numRuns: 1_000 },
  );
});

it('INV-ST1: a run that has ended stays as it is', () => {
  for (const from of RUN_STATUSES.filter(isTerminal)) {
    for (const how of RESULTS) expect(finishPath(from, how)).toEqual([]);
  }
});

it('Q5: in the cancel states every finish ends CANCELLED, a late success too', () => {
  for (const from of RUN_STATUSES.filter(isCancelling)) {
    for (const how of RESULTS.filter((one) => one.kind !== 'cancel-requested')) {
      expect(finishPath(from, how).at(-1)).toBe('CANCELLED');
    }
  }
  expect(finishPath('CANCEL_REQUESTED', { kind: 'succeeded' })).toEqual(['CANCELLING', 'CANCELLED']);
  expect(finishPath('CANCELLING', { kind: 'lease-lost', retry: true })).toEqual(['CANCELLED']);
});

it('Q5: without a lease a cancel is three steps, with one it waits for the agent to stop', () => {
  const request: FinishResult = { kind: 'cancel-requested' };
  for (const from of RUN_STATUSES.filter(isWaiting)) {
    expect(finishPath(from, request)).toEqual(['CANCEL_REQUESTED', 'CANCELLING', 'CANCELLED']);
  }
  for (const from of RUN_STATUSES.filter(isLeased)) {
    expect(finishPath(from, request)).toEqual(['CANCEL_REQUESTED']);
  }
});

it('Q4: a lost lease is retried or failed, never left where it was', () => {
  for (const from of RUN_STATUSES.filter(isLeased)) {
    expect(finishPath(from, { kind: 'lease-lost', retry: true })).toEqual([
      'STALE_LEASE',
      'FAILED_RETRYABLE',
      'QUEUED',
    ]);
    expect(finishPath(from, { kind: 'lease-lost', retry: false })).toEqual(['STALE_LEASE', 'FAILED']);
    expect(finishPath(from, { kind: 'failed', retry: true })).toEqual(['FAILED_RETRYABLE', 'QUEUED']);
    expect(finishPath(from, { kind: 'handed-back' })).toEqual(['FAILED_RETRYABLE', 'QUEUED']);
  }
});

it('a superseded run ends at once while it waits, is stopped while it works, and is left to finalize', () => {
  expect(finishPath('QUEUED', { kind: 'superseded' })).toEqual(['SUPERSEDED']);
  expect(finishPath('RUNNING', { kind: 'superseded' })).toEqual(['CANCEL_REQUESTED']);
  expect(finishPath('FINALIZING', { kind: 'superseded' })).toEqual([]);
});

it('"no work" is refused once the agent has started, and an attempt cannot fail before it is claimed', () => {
  expect(finishPath('PREPARING_SANDBOX', { kind: 'no-work' })).toEqual(['NO_WORK']);
  expect(finishPath('RUNNING', { kind: 'no-work' })).toEqual([]);
  expect(finishPath('QUEUED', { kind: 'failed', retry: true })).toEqual([]);
  expect(finishPath('QUEUED', { kind: 'lease-lost', retry: true })).toEqual([]);
});
