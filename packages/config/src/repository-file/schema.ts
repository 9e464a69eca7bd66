/** `.headgate.yaml` in a repository: what its owners may say. It has no key that could widen anything. */
import { z } from 'zod';
import { complain, otherVersion, say } from '../schema/complaint.js';
import { runLimits } from '../schema/limits.js';
import { commands, count, id, text, word } from '../schema/scalars.js';
import { strict } from '../schema/strict.js';

const path = text(500).superRefine((glob, context) => {
  if (!glob.startsWith('/') && !glob.split('/').includes('..')) return;
  complain(context, {
    message: `"${glob}" leads out of the repository`,
    fix: 'Write a pattern such as "db/migrations/**".',
  });
});

const rules = {
  enabled: z.boolean().optional(),
  mode: word('a mode', ['observe', 'propose', 'act']).optional(),
  limits: runLimits.optional(),
  maxAttempts: count(1, 20).optional(),
  maxOpenPullRequests: count(1, 1_000).optional(),
  protectedPaths: z.array(path).max(200).optional(),
  setup: commands.optional(),
  verify: commands.optional(),
  prompt: text(16_384)
    .refine((prompt) => !prompt.includes('{{'), {
      error: say('a prompt of a repository holds no templates', 'Write plain text.'),
    })
    .optional(),
};

export const repositoryRules = strict(null, rules);

export const repositoryFileSchema = strict(null, {
  version: z.literal(1, {
    error: ({ input }) =>
      input === undefined
        ? say('the version of the file is missing', 'Write version: 1 as the first line.')
        : otherVersion(input),
  }),
  ...rules,
  routes: z.record(id, repositoryRules).optional(),
});

/** JSON Schema (draft 2020-12) of `.headgate.yaml`, for editors. */
export function repositoryFileJsonSchema(): Readonly<Record<string, unknown>> {
  return {
    ...z.toJSONSchema(repositoryFileSchema, { io: 'input', target: 'draft-2020-12' }),
    title: '.headgate.yaml',
  };
}
