/** The words of the file: ids, durations, sizes, money, risk. Each says in its own error what it wants. */
import type { Risk } from '@headgate/domain';
import { z } from 'zod';
import { suggest } from '../problems/index.js';
import { say } from './complaint.js';

const DURATION = /^(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?$/;
const UNITS_MS = [86_400_000, 3_600_000, 60_000, 1_000, 1];
const SIZE = /^(\d{1,12})\s?(B|kB|KB|MB|GB|KiB|MiB|GiB)$/;
const SIZE_UNITS: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
};

/** `1h30m` -> 5 400 000; null when it is not a duration. */
export function parseDuration(text: string): number | null {
  const parts = DURATION.exec(text);
  if (parts === null || text === '') return null;
  return UNITS_MS.reduce((sum, unit, index) => sum + unit * Number(parts[index + 1] ?? 0), 0);
}

/** The shortest way to write it: 5 400 000 -> `1h30m`. */
export function formatDuration(ms: number): string {
  let rest = Math.round(ms);
  const text = ['d', 'h', 'm', 's', 'ms']
    .map((name, index) => {
      const unit = UNITS_MS[index] ?? 1;
      const count = Math.floor(rest / unit);
      rest -= count * unit;
      return count === 0 ? '' : `${count}${name}`;
    })
    .join('');
  return text === '' ? '0s' : text;
}

export interface Bounds {
  readonly minMs?: number;
  readonly maxMs?: number;
}

/** A duration with its unit: `30s`, `10m`, `1h30m`, `7d`, `500ms`. Becomes milliseconds. */
export function duration({ minMs = 0, maxMs = 366 * 86_400_000 }: Bounds = {}) {
  return z
    .string({
      error: ({ input }) =>
        typeof input === 'number'
          ? say(`${input} has no unit`, `Write a duration such as ${input}s or ${input}m.`)
          : undefined,
    })
    .regex(DURATION, {
      error: ({ input }) => say(`"${String(input)}" is not a duration`, 'Write it as 30s, 10m, 1h30m or 7d.'),
    })
    .refine((text) => parseDuration(text) !== null, {
      error: say('the duration is empty', 'Write it as 30s or 10m.'),
    })
    .transform((text) => parseDuration(text) ?? 0)
    .refine((ms) => ms >= minMs && ms <= maxMs, {
      error: ({ input }) =>
        say(
          `${formatDuration(Number(input))} is ${Number(input) < minMs ? 'too short' : 'too long'}`,
          `Write between ${formatDuration(minMs)} and ${formatDuration(maxMs)}.`,
        ),
    });
}

/** A size with its unit: `16MB`, `64KiB`. Becomes bytes. */
export const size = z
  .string({
    error: ({ input }) =>
      typeof input === 'number'
        ? say(`${input} has no unit`, `Write a size such as ${input}KB or ${input}MB.`)
        : undefined,
  })
  .regex(SIZE, {
    error: ({ input }) => say(`"${String(input)}" is not a size`, 'Write it as 64KB, 16MB or 1GiB.'),
  })
  .transform((text) => {
    const parts = SIZE.exec(text);
    return Number(parts?.[1] ?? 0) * (SIZE_UNITS[parts?.[2] ?? 'B'] ?? 1);
  });

/** US dollars, as a number. */
export const usd = z
  .number({
    error: ({ input }) =>
      typeof input === 'string'
        ? say(`"${input}" is not an amount`, 'Write US dollars as a number: 3 or 0.5.')
        : undefined,
  })
  .positive({
    error: ({ input }) =>
      say(`${String(input)} USD would allow nothing`, 'Write more than 0, or remove the line.'),
  })
  .max(1_000_000, { error: say('more than 1 000 000 USD', 'Write the amount in US dollars.') });

/** A whole number from `min` to `max`. */
export const count = (min: number, max: number) => {
  const error = ({ input }: { input?: unknown }): string | undefined =>
    typeof input === 'number'
      ? say(`${input} is not a whole number from ${min} to ${max}`, 'Correct the number.')
      : undefined;
  return z.number({ error }).int({ error }).min(min, { error }).max(max, { error });
};

const ID = /^[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?$/;

/** What a person calls a route, a source, an agent, a queue or a tenant: part of URLs, keys and queue names. */
export const id = z.string().regex(ID, {
  error: ({ input }) =>
    say(`"${String(input)}" is not a name`, 'Use lower-case letters, digits, "-" and "_", at most 63.'),
});

export const RISKS: readonly Risk[] = ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'];
const RISK_WORDS = ['low', 'medium', 'high', 'critical', 'LOW', 'MEDIUM', 'HIGH', 'CRITICAL'] as const;

/** `low`, `medium`, `high` or `critical`; capitals are fine. */
export const risk = z
  .enum(RISK_WORDS, {
    error: ({ input }) =>
      say(`"${String(input)}" is not a risk`, suggest(String(input), RISK_WORDS.slice(0, 4))),
  })
  .transform((word) => word.toUpperCase() as Risk);

/** One of a few words, with the nearest in the error. */
export function word<const Words extends readonly [string, ...string[]]>(what: string, words: Words) {
  return z.enum(words, {
    error: ({ input }) =>
      input === undefined || input === null
        ? undefined
        : say(`"${String(input)}" is not ${what}`, suggest(String(input), words)),
  });
}

/** Text that is really there. */
export const text = (maxLength: number) =>
  z
    .string()
    .min(1, { error: say('the text is empty', 'Write something, or remove the line.') })
    .max(maxLength, {
      error: say(`the text has more than ${maxLength.toLocaleString('en-US')} characters`, 'Shorten it.'),
    });

/** Shell commands, run one after the other. */
export const commands = z
  .array(text(4096))
  .max(50, { error: say('more than 50 commands', 'Move them into a script.') });
