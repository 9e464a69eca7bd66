import type { Goal } from '@headgate/sdk';
import { describe, expect, it } from 'vitest';
import { boundsOf } from '../src/goals/bounds.js';
import { seenOf } from '../src/goals/seen.js';

const STARTED = '2026-01-31T12:00:00.000Z';
const HOUR_MS = 3_600_000;

const aGoal = (change: Partial<Goal> = {}): Goal => ({
  id: 'goal_1',
  tenant: 'default',
  route: 'no-fixme',
  ordinal: 0,
  repository: 'acme/api',
  until: 'observation.exitCode == 0',
  observe: 'command',
  cadence: '@every 10m',
  timezone: 'UTC',
  stop: { maxRuns: 4, deadlineMs: 24 * HOUR_MS, noProgress: 2, maxCostUsd: null },
  state: 'active',
  stateAt: STARTED,
  stateBy: null,
  reasonCode: null,
  note: null,
  receiptId: null,
  phase: 'idle',
  runId: null,
  epoch: 1,
  startedAt: STARTED,
  deadlineAt: '2026-02-01T12:00:00.000Z',
  nextAt: null,
  observations: 0,
  runs: 1,
  costUsd: 1.5,
  noProgress: 0,
  unknowns: 0,
  ...change,
});
const at = (hours: number): number => Date.parse(STARTED) + hours * HOUR_MS;
const usedOf = (goal: Goal, nowMs: number): Readonly<Record<string, number>> =>
  Object.fromEntries(boundsOf(goal, nowMs).map(({ name, used }) => [name, used]));

describe('the bounds of a goal', () => {
  it('say how much of each is used', () => {
    expect(usedOf(aGoal(), at(6))).toEqual({ runs: 0.25, 'without progress': 0, time: 0.25 });
    const dear = aGoal({ stop: { ...aGoal().stop, maxCostUsd: 1 } });
    expect(usedOf(dear, at(0))).toMatchObject({ cost: 1 });
    expect(boundsOf(aGoal(), at(6)).at(-1)?.words).toBe('6 h 00 m of 24 h');
  });

  it('stop counting when it has ended, and never before it began', () => {
    const done = aGoal({ state: 'done', stateAt: new Date(at(12)).toISOString() });
    expect(usedOf(done, at(100))).toMatchObject({ time: 0.5 });
    expect(usedOf(aGoal(), at(-1))).toMatchObject({ time: 0 });
  });
});

describe('what an observation saw', () => {
  it('is read from commands and requests, and from what is neither', () => {
    expect(seenOf({ exitCode: 1, output: 'FIXME', status: null })).toEqual({
      verdict: 'exit code 1',
      evidence: 'FIXME',
    });
    expect(seenOf({ exitCode: null, status: 503, body: 'away' })).toEqual({
      verdict: 'status 503',
      evidence: 'away',
    });
    expect(seenOf({ exitCode: 0, output: '', json: { left: 3 } }).evidence).toContain('"left": 3');
    expect(seenOf(null)).toEqual({ verdict: null, evidence: null });
    expect(seenOf([1])).toEqual({ verdict: null, evidence: '[1]' });
  });
});
