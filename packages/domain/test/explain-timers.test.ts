/** *Why* of a schedule and of a goal (I17, I2). */
import {
  explainGoal,
  explainSchedule,
  formatId,
  type GoalFact,
  type GoalId,
  NO_FACTS,
  type ObservationFact,
  type ReceiptFact,
  type ReceiptId,
  type RunId,
  readReference,
  type ScheduleFact,
  type ScheduleId,
  systemIds,
  type TickFact,
} from '@headgate/domain';
import { describe, expect, it } from 'vitest';

const NOW = new Date('2026-01-31T14:00:00Z');
const at = (minutes: number): Date => new Date(NOW.getTime() + minutes * 60_000);
const RUN = '01900000-0000-7000-8000-000000000001' as RunId;

const aTick = (change: Partial<TickFact> = {}): TickFact => ({
  ...{ origin: 'timer', nominalAt: at(-10), untilAt: at(-10), count: 1, bucket: 'fired' },
  ...{ reasonCode: 'ADMITTED', receiptId: null },
  ...change,
});
const aSchedule = (change: Partial<ScheduleFact> = {}): ScheduleFact => ({
  id: '01900000-0000-7000-8000-0000000000aa' as ScheduleId,
  ...{ route: 'tidy', cron: '0 * * * *', timezone: 'UTC', note: null, nextAt: at(5), asked: 0 },
  ...{ pausedAt: null, pausedBy: null, ticks: [] },
  ...change,
});
const ofSchedule = (change: Partial<ScheduleFact>) =>
  explainSchedule({ timer: aSchedule(change), facts: NO_FACTS, waiting: null, now: NOW });

const aReceipt = (minutesAgo: number): ReceiptFact => ({
  id: `01900000-0000-7000-8000-00000000000${9 - minutesAgo}` as ReceiptId,
  ...{ kind: 'decision', outcome: 'no-work', reasonCode: 'NOTHING_FOUND', message: 'Nothing to do.' },
  ...{ rule: 'schedule.unchanged', route: 'tidy', existing: false, at: at(-minutesAgo) },
  ...{ source: 'schedule/x', eventId: `${minutesAgo}`, type: 'schedule.tick', actor: 'schedule:tidy' },
  ...{ repository: null, workKey: null, inputVersion: null, parentReceiptId: null, replayedBy: null },
  ...{ taskId: null, runId: null },
});

const aLook = (number: number, change: Partial<ObservationFact> = {}): ObservationFact => ({
  ...{ number, outcome: 'open', detail: null, observedAt: at(-number), runId: RUN, receiptId: null },
  ...change,
});
const aGoal = (change: Partial<GoalFact> = {}): GoalFact => ({
  id: '01900000-0000-7000-8000-0000000000bb' as GoalId,
  ...{ route: 'no-fixme', note: null, nextAt: at(1), repository: 'acme/api' },
  ...{ until: 'observation.exitCode == 0', state: 'active', stateAt: at(-60), stateBy: null },
  ...{ reasonCode: null, phase: 'idle', runId: null, runs: 1, maxRuns: 3, costUsd: 0.5 },
  ...{ deadlineAt: at(60), observations: [] },
  ...change,
});
const ofGoal = (change: Partial<GoalFact>) =>
  explainGoal({ timer: aGoal(change), facts: NO_FACTS, waiting: null, now: NOW });

describe('why, of a schedule', () => {
  it('I17: says when it ticks next, and what became of the last time', () => {
    const { kind, summary, steps } = ofSchedule({
      ticks: [
        aTick(),
        aTick({
          nominalAt: at(-60),
          untilAt: at(-40),
          count: 3,
          bucket: 'missed',
          reasonCode: 'MISSED_CATCHUP',
        }),
      ],
    });
    expect(kind).toBe('schedule');
    expect(summary).toContain('is active; its next time is 2026-01-31T14:05:00.000Z (in 5 min).');
    expect(summary).toContain('The last one, 2026-01-31T13:50:00.000Z (10 min ago), fired (ADMITTED).');
    expect(steps).toMatchObject([
      { type: 'schedule.missed', reasonCode: 'MISSED_CATCHUP', count: 3, lastAt: at(-40) },
      { type: 'schedule.fired', at: at(-10) },
    ]);
  });

  it('I17: decisions that say the same are one step, with how many and until when', () => {
    const receipts = [3, 2, 1].map((minute) => aReceipt(minute));
    const ticks = receipts.map(({ id, at: firedAt }) =>
      aTick({ nominalAt: firedAt, untilAt: firedAt, reasonCode: 'NOTHING_FOUND', receiptId: id }),
    );
    const { steps } = explainSchedule({
      timer: aSchedule({ ticks }),
      facts: { ...NO_FACTS, receipts },
      waiting: null,
      now: NOW,
    });
    expect(steps).toMatchObject([
      { reasonCode: 'NOTHING_FOUND', message: 'Nothing to do.', at: at(-3), count: 3, lastAt: at(-1) },
    ]);
  });

  it('I17: a paused one says since when, by whom, and what it waits for', () => {
    const { summary } = ofSchedule({
      pausedAt: at(-30),
      pausedBy: 'token:ada',
      note: 'release week',
      nextAt: null,
    });
    expect(summary).toContain(
      'is paused since 2026-01-31T13:30:00.000Z (30 min ago) by token:ada, "release week".',
    );
    expect(summary).toContain('waits for a resume');
    expect(summary).toContain('No time of it has passed yet.');
  });

  it('I17: one that is over, and one that a person has asked for, say so', () => {
    expect(ofSchedule({ nextAt: null }).summary).toContain('has no further time.');
    expect(ofSchedule({ asked: 1 }).summary).toContain('1 request of people not carried out yet.');
  });
});

describe('why, of a goal', () => {
  it.each<[Partial<GoalFact>, string]>([
    [{}, 'the next look is 2026-01-31T14:01:00.000Z (in 1 min).'],
    [{ phase: 'observing', runId: RUN, nextAt: null }, `is being looked at by ${formatId('run', RUN)}.`],
    [{ phase: 'working', runId: RUN, nextAt: null }, `the agent works on it in ${formatId('run', RUN)}.`],
    [{ state: 'done' }, 'holds since 2026-01-31T13:00:00.000Z (1 h ago); nothing more is begun.'],
    [{ state: 'given-up', reasonCode: 'COST_LIMIT' }, '(COST_LIMIT)'],
    [{ state: 'paused', stateBy: 'token:ada', note: 'wait' }, 'by token:ada, "wait". It waits for a resume.'],
  ])('I17: %j says where it stands', (change, words) => {
    expect(ofGoal(change).summary).toContain(words);
  });

  it('I17: tells its looks in their order, and its bounds', () => {
    const { kind, summary, steps } = ofGoal({
      observations: [aLook(1, { outcome: 'unknown', detail: 'timed out' }), aLook(2)],
    });
    expect(kind).toBe('goal');
    expect(summary).toContain(
      'Look 1: it could not be told ("timed out"), 2026-01-31T13:59:00.000Z (1 min ago).',
    );
    expect(summary).toContain('So far 1 of 3 runs, 0.50 USD. It is given up at 2026-01-31T15:00:00.000Z.');
    expect(steps.map(({ type, message }) => [type, message])).toEqual([
      ['goal.observed', 'Look 2: the condition is not met.'],
      ['goal.observed', 'Look 1: it could not be told ("timed out").'],
    ]);
  });
});

it('I17: ids of schedules and goals are read, also from a page of the console', () => {
  const [scheduleId, goalId] = [systemIds.next('sch'), systemIds.next('goal')];
  expect(readReference(formatId('sch', scheduleId))).toEqual([{ kind: 'schedule', scheduleId }]);
  const [surest] = readReference(`http://127.0.0.1:8080/goals/${formatId('goal', goalId)}`);
  expect(surest).toEqual({ kind: 'goal', goalId });
});
