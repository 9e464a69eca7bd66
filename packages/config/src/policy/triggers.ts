import type { TriggerOn } from '@headgate/domain';
import type { TriggerEntry } from '../schema/triggers.js';
import { DEFAULT_CATCH_UP, DEFAULT_CATCH_UP_MAX } from './defaults.js';

/** `ordinal` is the position in the list, whatever stands around it: it names the schedule. */
export function resolveTriggers(entries: readonly TriggerEntry[], timezone: string): readonly TriggerOn[] {
  return entries.map((entry, ordinal): TriggerOn => {
    if (entry === 'manual') return { kind: 'manual' };
    if (typeof entry === 'string') return { kind: 'event', type: entry };
    const mode = entry.catchUp?.mode ?? DEFAULT_CATCH_UP.mode;
    return {
      kind: 'schedule',
      ordinal,
      cron: entry.cron.trim().replace(/\s+/g, ' '),
      timezone: entry.timezone ?? timezone,
      jitterMs: entry.jitter ?? 0,
      overlap: entry.overlap ?? 'skip',
      catchUp: {
        mode,
        windowMs: entry.catchUp?.window ?? DEFAULT_CATCH_UP.windowMs,
        max: entry.catchUp?.max ?? DEFAULT_CATCH_UP_MAX[mode],
      },
    };
  });
}
