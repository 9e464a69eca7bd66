import { boundOf, type GoalSpec, type ScheduleSpec, type TriggerOn } from '@headgate/domain';
import type { TriggerEntry } from '../schema/triggers.js';
import {
  DEFAULT_CATCH_UP,
  DEFAULT_CATCH_UP_MAX,
  DEFAULT_GOAL_CADENCE,
  DEFAULT_GOAL_STOP,
  DEFAULT_OBSERVATION_MS,
} from './defaults.js';

type Written = Exclude<TriggerEntry, string>;
type ScheduleEntry = Extract<Written, { cron: string }>;
type GoalEntry = Extract<Written, { goal: unknown }>['goal'];

/** `ordinal` is the position in the list, whatever stands around it: it names the schedule or the goal. */
export function resolveTriggers(entries: readonly TriggerEntry[], timezone: string): readonly TriggerOn[] {
  return entries.map((entry, ordinal): TriggerOn => {
    if (entry === 'manual') return { kind: 'manual' };
    if (typeof entry === 'string') return { kind: 'event', type: entry };
    return 'goal' in entry
      ? goalOf(entry.goal, ordinal, timezone)
      : scheduleOf(entry, ordinal, entry.timezone ?? timezone);
  });
}

function scheduleOf(entry: ScheduleEntry, ordinal: number, timezone: string): ScheduleSpec {
  const mode = entry.catchUp?.mode ?? DEFAULT_CATCH_UP.mode;
  const bound = (text: string | undefined, end: 'start' | 'end'): string | null =>
    text === undefined ? null : (boundOf(text, timezone, end)?.toISOString() ?? null);
  return {
    kind: 'schedule',
    ordinal,
    cron: plain(entry.cron),
    timezone,
    startAt: bound(entry.start, 'start'),
    endAt: bound(entry.end, 'end'),
    exclude: entry.exclude ?? [],
    jitterMs: entry.jitter ?? 0,
    pauseOnFailure: entry.pauseOnFailure ?? false,
    overlap: entry.overlap ?? 'skip',
    catchUp: {
      mode,
      windowMs: entry.catchUp?.window ?? DEFAULT_CATCH_UP.windowMs,
      max: entry.catchUp?.max ?? DEFAULT_CATCH_UP_MAX[mode],
    },
  };
}

function goalOf(entry: GoalEntry, ordinal: number, timezone: string): GoalSpec {
  const { observe, stop } = entry;
  const timeoutMs = observe.timeout ?? DEFAULT_OBSERVATION_MS;
  return {
    kind: 'goal',
    ordinal,
    observe:
      'command' in observe
        ? { kind: 'command', command: observe.command, timeoutMs }
        : {
            kind: 'http',
            url: observe.http.url,
            headers: observe.http.headers ?? {},
            allow: observe.http.allow ?? [],
            timeoutMs,
          },
    until: { source: entry.until },
    cadence: plain(entry.cadence ?? DEFAULT_GOAL_CADENCE),
    timezone: entry.timezone ?? timezone,
    stop: {
      maxRuns: stop.maxRuns ?? DEFAULT_GOAL_STOP.maxRuns,
      deadlineMs: stop.deadline ?? DEFAULT_GOAL_STOP.deadlineMs,
      noProgress: stop.noProgress ?? DEFAULT_GOAL_STOP.noProgress,
      maxCostUsd: stop.maxCostUsd ?? null,
    },
  };
}

const plain = (cron: string): string => cron.trim().replace(/\s+/g, ' ');
