/** A schedule or a goal as the rows have it, and which receipts and runs it names. */
import {
  type Explained,
  explainGoal,
  explainSchedule,
  type Facts,
  type GoalFact,
  type ObservationFact,
  parseId,
  type Reading,
  type ReceiptId,
  type RunId,
  type ScheduleFact,
  type WaitingWords,
} from '@headgate/domain';
import type { GoalDetail, ScheduleDetail } from '@headgate/sdk';
import type { Connection } from '@headgate/store';
import { type Found, goalDetail, scheduleDetail } from '../queries/index.js';

export interface Timer {
  readonly found: Found;
  readonly explain: (facts: Facts, waiting: WaitingWords | null, now: Date) => Explained;
}

export type TimerReading = Extract<Reading, { kind: 'schedule' | 'goal' }>;

/** Null: it is not there, or no longer in the configuration. */
export async function findTimer(c: Connection, reading: TimerReading): Promise<Timer | null> {
  if (reading.kind === 'schedule') {
    const detail = await scheduleDetail(c, reading.scheduleId);
    if (detail === null) return null;
    const timer = scheduleFact(detail, reading.scheduleId);
    return {
      found: foundOf(
        timer.ticks.map(({ receiptId }) => receiptId),
        detail.running,
      ),
      explain: (facts, waiting, now) => explainSchedule({ timer, facts, waiting, now }),
    };
  }
  const detail = await goalDetail(c, reading.goalId);
  if (detail === null) return null;
  const timer = goalFact(detail, reading.goalId);
  const receipts = timer.observations.map(({ receiptId }) => receiptId);
  return {
    found: foundOf([receiptIdOf(detail.receiptId), ...receipts], detail.runId === null ? [] : [detail.runId]),
    explain: (facts, waiting, now) => explainGoal({ timer, facts, waiting, now }),
  };
}

const foundOf = (receiptIds: readonly (ReceiptId | null)[], runIds: readonly string[]): Found => ({
  taskIds: [],
  receiptIds: [...new Set(receiptIds.filter((id) => id !== null))],
  runIds: runIds.flatMap((id) => runIdOf(id) ?? []),
});

const receiptIdOf = (id: string | null): ReceiptId | null => (id === null ? null : parseId('rcpt', id));
const runIdOf = (id: string | null): RunId | null => (id === null ? null : parseId('run', id));
const dateOf = (instant: string | null): Date | null => (instant === null ? null : new Date(instant));

function scheduleFact(detail: ScheduleDetail, id: ScheduleFact['id']): ScheduleFact {
  const { route, cron, timezone, note, pausedAt, pausedBy, nextAt, requests, recent } = detail;
  return {
    ...{ id, route, cron, timezone, note, pausedBy },
    pausedAt: dateOf(pausedAt),
    nextAt: dateOf(nextAt),
    asked: requests.filter(({ state }) => state === 'pending').length,
    ticks: recent.map((tick) => ({
      ...tick,
      nominalAt: new Date(tick.nominalAt),
      untilAt: new Date(tick.untilAt),
      receiptId: receiptIdOf(tick.receiptId),
    })),
  };
}

function goalFact(detail: GoalDetail, id: GoalFact['id']): GoalFact {
  const { route, repository, until, state, stateBy, reasonCode, note, phase, runs, costUsd, stop } = detail;
  return {
    ...{ id, route, repository, until, state, stateBy, reasonCode, note, phase, runs, costUsd },
    maxRuns: stop.maxRuns,
    stateAt: new Date(detail.stateAt),
    nextAt: dateOf(detail.nextAt),
    deadlineAt: new Date(detail.deadlineAt),
    runId: runIdOf(detail.runId),
    observations: detail.recent.flatMap((one): ObservationFact[] => {
      const runId = runIdOf(one.runId);
      const { number, outcome, detail: said } = one;
      return runId === null
        ? []
        : [
            {
              ...{ number, outcome, detail: said, runId },
              observedAt: new Date(one.observedAt),
              receiptId: receiptIdOf(one.receiptId),
            },
          ];
    }),
  };
}
