/** A trigger that is a state of the world: observed until it holds, within bounds. */
import { isAddressRange } from '@headgate/domain';
import { z } from 'zod';
import { compileGoalCondition } from '../cel/index.js';
import { checkReference, parseReference } from '../secrets/reference.js';
import { complain, say } from './complaint.js';
import { count, duration, text, usd } from './scalars.js';
import { cadence, timezone } from './schedules.js';
import { strict } from './strict.js';

const HOUR_MS = 3_600_000;
/** Longer than this, and the observation is work for a route. */
const LONGEST_OBSERVATION_MS = 2 * HOUR_MS;

const url = text(2048).superRefine((written, context) => {
  const parsed = URL.canParse(written) ? new URL(written) : null;
  if (parsed === null || (parsed.protocol !== 'https:' && parsed.protocol !== 'http:')) {
    complain(context, { message: `"${written}" is not an address`, fix: 'Write https://host/path.' });
  } else if (parsed.username !== '' || parsed.password !== '') {
    complain(context, { message: 'the address holds a password', fix: 'Send it as a header: a reference.' });
  }
});

/** Plain, or a reference to a secret. */
const headerValue = text(1024).superRefine((value, context) => {
  const looksLikeReference = value.startsWith('$') || value.startsWith('file:');
  if (!looksLikeReference || parseReference(value) !== null) return;
  const wrong = checkReference(value);
  if (wrong !== null) complain(context, wrong);
});

const http = strict(null, {
  url,
  headers: z
    .record(
      z.string().regex(/^[A-Za-z0-9-]{1,100}$/, {
        error: ({ input }) => say(`"${String(input)}" is not a header`, 'Write its name: authorization.'),
      }),
      headerValue,
    )
    .optional(),
  allow: z
    .array(
      z.string().refine(isAddressRange, {
        error: ({ input }) =>
          say(`"${String(input)}" is not an address range`, 'Write 10.0.0.0/8 or 10.1.2.3.'),
      }),
    )
    .max(50)
    .optional(),
});

const timeout = duration({ minMs: 1_000, maxMs: LONGEST_OBSERVATION_MS }).optional();

const observe = z.union([strict(null, { command: text(4096), timeout }), strict(null, { http, timeout })]);

const stop = strict(null, {
  maxRuns: count(1, 1_000).optional(),
  deadline: duration({ minMs: 1_000 }).optional(),
  noProgress: count(1, 1_000).optional(),
  maxCostUsd: usd.optional(),
}).refine((bounds) => Object.values(bounds).some((bound) => bound !== undefined), {
  error: say('a goal without a bound could work for ever', 'Write { maxRuns: 5 } at least.'),
});

const goal = strict(null, {
  observe,
  until: text(2000).superRefine((source, context) => {
    const compiled = compileGoalCondition(source);
    if (!compiled.ok) complain(context, compiled.problem);
  }),
  cadence: cadence.optional(),
  timezone: timezone.optional(),
  stop,
});

export const goalTrigger = strict('trigger', { goal });
