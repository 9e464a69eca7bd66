/** A trigger that is a clock: cron with its zone, bounds, overlap and catch-up. */
import { boundOf, Exclusions } from '@headgate/domain';
import { Cron } from 'croner';
import { z } from 'zod';
import { type Complaint, suggest } from '../problems/index.js';
import { complain, say } from './complaint.js';
import { count, duration, formatDuration, parseDuration, word } from './scalars.js';
import { strict } from './strict.js';

const NICKNAMES = ['@hourly', '@daily', '@midnight', '@weekly', '@monthly', '@yearly', '@annually'];
const SHORTEST_EVERY_MS = 1_000;
/** A fixed instant: whether a pattern ever fires does not depend on when the file is read. */
const REFERENCE = new Date('2024-01-01T00:00:00Z');

/** The period of `@every 20s` in ms; null when it is another kind of schedule. */
function everyMs(cron: string): number | null {
  const written = /^@every\s+(\S+)$/.exec(cron);
  return written?.[1] === undefined ? null : parseDuration(written[1]);
}

function checkCron(cron: string): Complaint | null {
  if (cron.startsWith('@every')) {
    const period = everyMs(cron);
    if (period === null)
      return { message: `"${cron}" has no duration`, fix: 'Write @every 20s or @every 1h30m.' };
    return period < SHORTEST_EVERY_MS
      ? { message: `"${cron}" is too often`, fix: `Write at least ${formatDuration(SHORTEST_EVERY_MS)}.` }
      : null;
  }
  if (cron.startsWith('@')) {
    return NICKNAMES.includes(cron)
      ? null
      : { message: `"${cron}" is not a schedule`, fix: suggest(cron, [...NICKNAMES, '@every 20s']) };
  }
  const fields = cron.trim().split(/\s+/).length;
  if (fields !== 5) {
    return {
      message: `"${cron}" has ${fields === 1 ? 'one field' : `${fields} fields`}, a schedule has five`,
      fix: 'Write minute, hour, day of month, month, day of week: "0 3 * * 1".',
    };
  }
  try {
    const first = new Cron(cron, { mode: '5-part', paused: true, timezone: 'UTC' }).nextRun(REFERENCE);
    return first === null ? { message: `"${cron}" never happens`, fix: 'Name a day that exists.' } : null;
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error);
    return { message: `"${cron}" is not a schedule: ${lowerFirst(reason)}`, fix: 'Correct that field.' };
  }
}

const lowerFirst = (sentence: string): string => sentence.slice(0, 1).toLowerCase() + sentence.slice(1);

function isTimezone(name: string): boolean {
  // A bare offset ("+02:00") is accepted by Intl, and has no daylight saving: a zone has letters.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const ZONES = Intl.supportedValuesOf('timeZone');

/** An IANA time zone. */
export const timezone = z
  .string()
  .max(64)
  .refine(isTimezone, {
    error: ({ input }) => {
      const nearest = suggest(String(input), ZONES);
      return say(
        `"${String(input)}" is not a time zone`,
        nearest.startsWith('Did') ? nearest : 'Use an IANA name such as Europe/Berlin or UTC.',
      );
    },
  });

/** Five fields, an @-name, or `@every 20s`. */
export const cadence = z.string().superRefine((cron, context) => {
  const wrong = checkCron(cron);
  if (wrong !== null) complain(context, wrong);
});

const bound = z.string().refine((text) => boundOf(text, 'UTC', 'start') !== null, {
  error: ({ input }) =>
    say(`"${String(input)}" is not a time`, 'Write a day (2026-12-01) or an instant (2026-12-01T08:00:00Z).'),
});

const excludedDay = z.string().superRefine((entry, context) => {
  const read = Exclusions.parse([entry], 'UTC');
  if (!read.ok) complain(context, { message: read.problem, fix: 'Correct it.' });
});

const OVERLAPS = ['skip', 'bufferOne', 'bufferAll', 'cancelOther', 'terminateOther', 'allowAll'] as const;

const catchUp = strict(null, {
  mode: word('a catch-up mode', ['none', 'latest', 'all']).optional(),
  window: duration({ minMs: 1_000 }).optional(),
  max: count(1, 1_000).optional(),
});

export const schedule = strict('trigger', {
  cron: cadence,
  timezone: timezone.optional(),
  start: bound.optional(),
  end: bound.optional(),
  exclude: z
    .array(excludedDay)
    .max(200, { error: say('more than 200 excluded days', 'Write ranges: 2026-12-24/2027-01-02.') })
    .optional(),
  jitter: duration({ maxMs: 86_400_000 }).optional(),
  overlap: word('an overlap rule', OVERLAPS).optional(),
  catchUp: catchUp.optional(),
  pauseOnFailure: z.boolean().optional(),
}).superRefine(({ cron, jitter, start, end, timezone: zone }, context) => {
  const startAt = start === undefined ? null : boundOf(start, zone ?? 'UTC', 'start');
  const endAt = end === undefined ? null : boundOf(end, zone ?? 'UTC', 'end');
  if (startAt !== null && endAt !== null && endAt < startAt) {
    complain(context, { message: 'the end lies before the start', fix: 'Correct one of them.' }, ['end']);
  }
  const period = everyMs(cron);
  if (period !== null && jitter !== undefined && jitter >= period) {
    complain(
      context,
      {
        message: `a jitter of ${formatDuration(jitter)} is not shorter than the period, ${formatDuration(period)}`,
        fix: 'Shorten it.',
      },
      ['jitter'],
    );
  }
});
