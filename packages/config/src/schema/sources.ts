import { z } from 'zod';
import { notSupported } from '../not-supported.js';
import { suggest } from '../problems/index.js';
import { checkReference } from '../secrets/reference.js';
import { complain, say } from './complaint.js';
import { checkRepositoryUrl } from './repository-url.js';
import { id, text } from './scalars.js';
import { strict } from './strict.js';

const REPOSITORY_NAME = /^[A-Za-z0-9_.-]+(\/[A-Za-z0-9_.-]+)*$/;
const GITHUB_NAME = /^[A-Za-z0-9_.-]+\/[A-Za-z0-9_.-]+$/;

const repository = strict(null, {
  url: text(2048).superRefine((url, context) => {
    const wrong = checkRepositoryUrl(url);
    if (wrong !== null) complain(context, wrong);
  }),
  defaultBranch: text(255)
    .regex(/^(?![-/])(?!.*(\.\.|\/\/|@\{|\.lock$|[/.]$))[^\s~^:?*[\\]+$/, {
      error: ({ input }) => say(`"${String(input)}" is not a branch`, 'Write its name: main.'),
    })
    .optional(),
  ciTrusted: z.boolean().optional(),
  topics: z.array(text(50)).max(100).optional(),
  properties: z.record(text(75), text(200)).optional(),
});

const repositories = (name: RegExp, shape: string) =>
  z
    .record(
      z
        .string()
        .max(200)
        .regex(name, {
          error: ({ input }) => say(`"${String(input)}" is not a repository`, `Write it as ${shape}.`),
        }),
      repository,
    )
    .refine((all) => Object.keys(all).length > 0, {
      error: say('no repository is named', `Write one as ${shape}: { url: … }.`),
    });

const secretReference = text(1024).superRefine((reference, context) => {
  const wrong = checkReference(reference);
  if (wrong !== null) complain(context, wrong);
});

const github = strict('source', {
  kind: z.literal('github'),
  tenant: id.optional(),
  webhookSecrets: z
    .array(secretReference)
    .min(1, {
      error: say(
        'no secret is named, so no delivery could be trusted',
        `Write [ "\${GITHUB_WEBHOOK_SECRET}" ].`,
      ),
    })
    .max(10, {
      error: say('more than 10 secrets', 'Keep the ones in use: two while one replaces the other.'),
    }),
  authority: z
    .enum(['payload'], {
      error: ({ input }) =>
        input === 'source'
          ? say(
              'authority "source" is not supported in this version',
              'Write payload: heads are read again by git.',
            )
          : say(`"${String(input)}" is not an authority`, 'Write payload.'),
    })
    .optional(),
  repositories: repositories(GITHUB_NAME, 'owner/name'),
});

const git = strict('source', {
  kind: z.literal('git'),
  tenant: id.optional(),
  repositories: repositories(REPOSITORY_NAME, 'name or group/name'),
});

const KINDS = ['github', 'git'];

export const source = z.discriminatedUnion('kind', [github, git], {
  error: ({ input }) => {
    if (typeof input !== 'object' || input === null) return undefined;
    const kind = 'kind' in input ? String(input.kind) : '';
    if (kind === '')
      return say('the kind of the source is missing', `Write kind: ${KINDS.join(' or kind: ')}.`);
    const later = notSupported('sourceKind', kind);
    return later === null
      ? say(`"${kind}" is not a kind of source`, suggest(kind, KINDS))
      : say(later.message, later.fix);
  },
});
