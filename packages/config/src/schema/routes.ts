import { z } from 'zod';
import { compileCondition, compilePrompt, compileTemplate } from '../cel/index.js';
import { PRESETS } from '../presets/catalogue.js';
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

const repositoryPattern = text(200).regex(/^[A-Za-z0-9_.*?/-]+$/, {
  error: ({ input }) =>
    say(`"${String(input)}" is not a repository`, 'Write owner/name or a pattern: "acme/web-*".'),
});
const repositoryPatterns = z.array(repositoryPattern).max(1000);
const words = (maxLength: number) => z.array(text(maxLength)).max(100);

/** A list of names and patterns, or a map that also knows topics and properties. */
const repositories = z.union([
  repositoryPatterns,
  strict(null, {
    names: repositoryPatterns.optional(),
    except: repositoryPatterns.optional(),
    topics: words(50).optional(),
    properties: z.record(text(75), text(200)).optional(),
  }),
]);

const labels = z.union([
  words(100),
  strict(null, { any: words(100).optional(), none: words(100).optional() }),
]);

const ASSOCIATIONS = [
  'OWNER',
  'MEMBER',
  'COLLABORATOR',
  'CONTRIBUTOR',
  'FIRST_TIME_CONTRIBUTOR',
  'FIRST_TIMER',
  'MANNEQUIN',
  'NONE',
] as const;

const debounce = z.union([
  duration({ minMs: 1_000, maxMs: 3_600_000 }).transform((quiet) => ({ quiet, max: undefined })),
  strict(null, {
    quiet: duration({ minMs: 1_000, maxMs: 3_600_000 }),
    max: duration({ minMs: 1_000, maxMs: 86_400_000 }).optional(),
  }).superRefine(({ quiet, max }, context) => {
    if (max === undefined || max >= quiet) return;
    complain(
      context,
      { message: 'the bound is shorter than the quiet time', fix: 'Lengthen max, or leave it out.' },
      ['max'],
    );
  }),
]);

const repositoryFile = z.union([
  z.boolean(),
  strict(null, {
    allow: z
      .array(word('a key that a repository may add', ['setup', 'verify', 'prompt']))
      .max(3)
      .optional(),
  }),
]);

export const route = strict('route', {
  /** Written out before the schema is asked; here for editors. */
  use: z.enum(PRESETS.map(({ name }) => name)).optional(),
  on: triggers,
  when: condition.optional(),
  tenant: id.optional(),
  sources: z.array(id).max(100).optional(),
  repositories: repositories.optional(),
  branches: words(255).optional(),
  labels: labels.optional(),
  authors: words(100).optional(),
  associations: z.array(word('an author association', ASSOCIATIONS)).max(8).optional(),
  forks: z.boolean().optional(),
  drafts: z.boolean().optional(),
  bots: z.boolean().optional(),
  mode: word('a mode', ['observe', 'propose', 'act']).optional(),
  agent: id.optional(),
  prompt: text(65_536)
    .superRefine((prompt, context) => {
      const compiled = compilePrompt(prompt);
      if (!compiled.ok) complain(context, compiled.problem);
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
  debounce: debounce.optional(),
  maxOpenPullRequests: count(1, 1_000).optional(),
  repositoryFile: repositoryFile.optional(),
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
