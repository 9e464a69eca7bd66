import { z } from 'zod';
import { compileCondition, compileTemplate } from '../cel/index.js';
import { notSupported } from '../not-supported.js';
import { complain, say } from './complaint.js';
import { capabilities, runLimits } from './limits.js';
import { commands, count, duration, id, risk, text, word } from './scalars.js';
import { strict } from './strict.js';
import { triggers } from './triggers.js';

const PRIORITIES = ['urgent', 'high', 'normal', 'low'] as const;
const MAX_HEAD_START_SECONDS = 86_400;

const condition = text(2000).superRefine((source, context) => {
  const compiled = compileCondition(source);
  if (!compiled.ok) complain(context, compiled.problem);
});

const template = text(2000).superRefine((source, context) => {
  const compiled = compileTemplate(source);
  if (!compiled.ok) complain(context, compiled.problem);
});

const pattern = text(500).refine((glob) => !glob.startsWith('/') && !glob.split('/').includes('..'), {
  error: ({ input }) =>
    say(`"${String(input)}" leads out of the repository`, 'Write a pattern such as "src/**".'),
});
const patterns = z.array(pattern).max(200, { error: say('more than 200 patterns', 'Use wider ones.') });

const priority = z
  .union([word('a priority', PRIORITIES), count(-MAX_HEAD_START_SECONDS, MAX_HEAD_START_SECONDS)])
  .describe('urgent, high, normal, low, or seconds of head start');

const backoff = z.union([
  duration({ minMs: 10 }).transform((ms) => [ms]),
  z
    .array(duration({ minMs: 10 }))
    .min(1, { error: say('the list is empty', 'Write one duration at least.') })
    .max(20, { error: say('more than 20 durations', 'The last one repeats.') }),
]);

const retry = strict(null, {
  maxAttempts: count(1, 20).optional(),
  maxInfrastructure: count(0, 100).optional(),
  maxLeaseLost: count(0, 100).optional(),
  backoff: backoff.optional(),
});

export const route = strict('route', {
  on: triggers,
  when: condition.optional(),
  tenant: id.optional(),
  sources: z.array(id).max(100).optional(),
  repositories: z
    .array(
      text(200).regex(/^[A-Za-z0-9_.*?/-]+$/, {
        error: ({ input }) =>
          say(`"${String(input)}" is not a repository`, 'Write owner/name or a pattern: "acme/web-*".'),
      }),
      {
        error: ({ input }) => {
          const key = typeof input === 'object' && input !== null ? (Object.keys(input)[0] ?? '') : '';
          const later = notSupported('repositories', key);
          return later === null ? undefined : say(later.message, later.fix);
        },
      },
    )
    .max(1000)
    .optional(),
  mode: word('a mode', ['observe', 'propose', 'act']).optional(),
  agent: id.optional(),
  prompt: text(65_536)
    .refine((prompt) => !prompt.includes('{{'), {
      error: say(
        'templates in prompts are not supported in this version',
        'Write plain text; the agent reads its input file.',
      ),
    })
    .optional(),
  work: strict(null, { key: template.optional(), version: template.optional() }).optional(),
  onNewVersion: word('a rule for new versions', [
    'reject',
    'useExisting',
    'queueOne',
    'cancelOther',
    'allow',
  ]).optional(),
  dedupe: duration({ minMs: 60_000, maxMs: 90 * 86_400_000 }).optional(),
  timeToLive: duration({ minMs: 1_000, maxMs: 90 * 86_400_000 }).optional(),
  requires: capabilities.optional(),
  risk: risk.optional(),
  priority: priority.optional(),
  concurrency: strict(null, { key: template, limit: count(1, 10_000).optional() }).optional(),
  paths: patterns.optional(),
  protectedPaths: patterns.optional(),
  setup: commands.optional(),
  verify: commands.optional(),
  limits: runLimits.optional(),
  retry: retry.optional(),
});

export type RouteEntry = z.output<typeof route>;
