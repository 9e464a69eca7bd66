import type { AttemptLease, RunAttempt, RunDetail, RunEvent } from '@headgate/sdk';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { beatsOf } from '../src/run/beats.js';
import { lanesOf, scaleOf } from '../src/run/lanes.js';
import { aRun } from './a-run.js';

const START_MS = Date.parse('2026-01-31T13:50:00.000Z');
const at = (seconds: number): string => new Date(START_MS + seconds * 1_000).toISOString();
const ms = (seconds: number): number => START_MS + seconds * 1_000;

const aLease = (change: Partial<AttemptLease> = {}): AttemptLease => ({
  acquiredAt: at(0),
  expiresAt: null,
  renewedAt: null,
  beatMs: null,
  renewals: null,
  releasedAt: null,
  lostAt: null,
  ...change,
});

function anAttempt(
  number: number,
  from: number,
  to: number | null,
  change: Partial<RunAttempt> = {},
): RunAttempt {
  const isLost = change.status === 'lost';
  return {
    id: `att_${number}`,
    number,
    workerId: 'wkr_1',
    leaseId: `lease_${number}`,
    fencingToken: String(number),
    status: to === null ? 'running' : 'succeeded',
    reasonCode: null,
    detail: null,
    startedAt: at(from),
    finishedAt: to === null ? null : at(to),
    costUsd: 0,
    evidence: null,
    lease: aLease({ acquiredAt: at(from), lostAt: isLost && to !== null ? at(to) : null }),
    ...change,
  };
}

const aMove = (seconds: number, to: RunEvent['to'], attempt: number | null): RunEvent => ({
  id: `evt_${seconds}_${to}`,
  at: at(seconds),
  type: 'run.moved',
  from: null,
  to,
  reasonCode: null,
  actor: null,
  attempt,
  fencingToken: null,
});

const aDetail = (change: Partial<RunDetail> = {}): RunDetail => ({
  ...aRun({ createdAt: at(0) }),
  actions: [],
  approval: null,
  lease: null,
  lineage: { hops: 0, chainRuns: 1, rootReceiptId: 'rcpt_1' },
  promptDigest: null,
  reasonMessage: null,
  feedback: null,
  attempts: [],
  operations: [],
  usage: null,
  events: [],
  ...change,
});

describe('the lanes of a run', () => {
  it('show what it waited, then each attempt by its stages', () => {
    const run = aDetail({
      finishedAt: at(60),
      attempts: [anAttempt(1, 10, 60)],
      events: [
        aMove(0, 'QUEUED', null),
        aMove(10, 'CLAIMED', 1),
        aMove(20, 'RUNNING', 1),
        aMove(50, 'VERIFYING', 1),
      ],
    });
    const [waits, first, ...more] = lanesOf(run, ms(99));
    expect(more).toEqual([]);
    expect(waits?.bars).toEqual([{ stage: 'QUEUED', fromMs: ms(0), toMs: ms(10), isOpen: false }]);
    expect(first?.bars.map(({ stage, fromMs, toMs }) => [stage, fromMs, toMs])).toEqual([
      ['CLAIMED', ms(10), ms(20)],
      ['RUNNING', ms(20), ms(50)],
      ['VERIFYING', ms(50), ms(60)],
    ]);
  });

  it('mark the loss of an attempt where its lease ran out, and who took over', () => {
    const lost = anAttempt(1, 0, 40, {
      status: 'lost',
      lease: aLease({ renewals: 4, renewedAt: at(20), expiresAt: at(35), lostAt: at(40) }),
    });
    const lanes = lanesOf(aDetail({ attempts: [lost, anAttempt(2, 45, null)] }), ms(60)).filter(
      ({ attempt }) => attempt !== null,
    );
    expect(lanes.map(({ loss }) => loss)).toEqual([{ expiredMs: ms(35), lostMs: ms(40) }, null]);
    expect(lanes.map(({ hasTakenOver }) => hasTakenOver)).toEqual([false, true]);
    expect(lanes[0]?.beats).toEqual([ms(5), ms(10), ms(15), ms(20)]);
  });

  it('leave no gap and no overlap between the stages of an attempt, wherever its events lie', () => {
    const stage = fc.constantFrom(
      'CLAIMED' as const,
      'RUNNING' as const,
      'VERIFYING' as const,
      'FINALIZING' as const,
    );
    const moves = fc.array(fc.tuple(fc.integer({ min: 0, max: 120 }), stage), { maxLength: 8 });
    fc.assert(
      fc.property(
        moves,
        fc.nat(50),
        fc.option(fc.integer({ min: 51, max: 130 }), { nil: null }),
        (list, from, to) => {
          const events = list
            .toSorted(([a], [b]) => a - b)
            .filter(([seconds]) => seconds >= from)
            .map(([seconds, next]) => aMove(seconds, next, 1));
          const run = aDetail({
            attempts: [anAttempt(1, from, to)],
            events,
            finishedAt: to === null ? null : at(to),
          });
          const bars = lanesOf(run, ms(130)).find(({ attempt }) => attempt !== null)?.bars ?? [];
          expect(bars[0]?.fromMs).toBe(ms(from));
          expect(bars.at(-1)?.toMs).toBe(to === null ? ms(130) : ms(to));
          for (const [index, bar] of bars.entries()) {
            expect(bar.toMs).toBeGreaterThanOrEqual(bar.fromMs);
            if (index > 0) expect(bar.fromMs).toBe(bars[index - 1]?.toMs);
          }
        },
      ),
    );
  });
});

describe('the scale of a timeline', () => {
  const spans = fc.array(fc.tuple(fc.nat(100_000), fc.integer({ min: 1, max: 5_000 })), {
    minLength: 1,
    maxLength: 5,
  });

  it('never runs backwards, and keeps everything within its ends', () => {
    fc.assert(
      fc.property(spans, fc.array(fc.nat(200_000), { maxLength: 20 }), (list, places) => {
        const attempts = list.map(([from, length], index) => anAttempt(index + 1, from, from + length));
        const scale = scaleOf(lanesOf(aDetail({ attempts, finishedAt: at(300_000) }), 0));
        const sorted = places.toSorted((a, b) => a - b).map((seconds) => scale.place(ms(seconds)));
        for (const [index, place] of sorted.entries()) {
          expect(place).toBeGreaterThanOrEqual(sorted[index - 1] ?? 0);
          expect(place).toBeLessThanOrEqual(100);
        }
        expect(scale.place(scale.fromMs)).toBe(0);
        expect(scale.place(scale.toMs)).toBeCloseTo(100);
      }),
    );
  });

  it('cuts short what it waited for hours before it worked for seconds, and says how much', () => {
    const run = aDetail({
      finishedAt: at(7_210),
      attempts: [anAttempt(1, 7_200, 7_210)],
      events: [aMove(0, 'QUEUED', null), aMove(7_200, 'CLAIMED', 1)],
    });
    const scale = scaleOf(lanesOf(run, 0));
    expect(scale.cuts.map((cut) => cut.ms)).toEqual([7_200_000]);
    expect(scale.place(ms(7_200))).toBeLessThan(40);
  });
});

describe('the renewals of a lease', () => {
  it('lie between its first moment and its last renewal, which is exact', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.integer({ min: 1, max: 86_400 }),
        fc.integer({ min: 1, max: 80 }),
        (renewals, last, most) => {
          const beats = beatsOf(aLease({ renewals, renewedAt: at(last) }), most);
          expect(beats.length).toBe(Math.min(renewals, most));
          expect(beats.at(-1)).toBe(ms(last));
          for (const [index, beat] of beats.entries())
            expect(beat).toBeGreaterThan(beats[index - 1] ?? START_MS);
        },
      ),
    );
  });

  it('are none where none is known', () => {
    expect(beatsOf(aLease())).toEqual([]);
    expect(beatsOf(aLease({ renewals: 0 }))).toEqual([]);
  });
});
