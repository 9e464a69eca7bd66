import { SOURCE_KINDS } from '@headgate/domain';
import { z } from 'zod';
import { notSupported } from '../not-supported.js';
import { suggest } from '../problems/index.js';
import { checkReference } from '../secrets/reference.js';
import { complain, say } from './complaint.js';
import { checkRepositoryUrl } from './repository-url.js';
import { count, duration, id, text, word } from './scalars.js';
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

const webhookSecrets = (example: string) =>
  z
    .array(secretReference)
    .min(1, {
      error: say('no secret is named, so no delivery could be trusted', `Write [ "\${${example}}" ].`),
    })
    .max(10, {
      error: say('more than 10 secrets', 'Keep the ones in use: two while one replaces the other.'),
    });

const SHORTEST_LOOK_MS = 5_000;
const LONGEST_LOOK_MS = 86_400_000;

/** `true`, `false`, or how often. */
const looks = z.union([
  z.boolean(),
  strict(null, { every: duration({ minMs: SHORTEST_LOOK_MS, maxMs: LONGEST_LOOK_MS }).optional() }),
]);

const replayWindow = duration({ minMs: 60_000 });

const apiUrl = text(2048).refine((url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol), {
  error: say('not the address of an API', 'Write https://github.example.com/api/v3.'),
});

const github = strict('source', {
  kind: z.literal('github'),
  tenant: id.optional(),
  app: secretReference.optional(),
  token: secretReference.optional(),
  baseUrl: apiUrl.optional(),
  webhookSecrets: webhookSecrets('GITHUB_WEBHOOK_SECRET').optional(),
  poll: looks.optional(),
  scan: looks.optional(),
  redeliver: count(0, 10).optional(),
  self: strict(null, {
    appId: count(1, Number.MAX_SAFE_INTEGER).optional(),
    logins: z.array(text(100)).max(20).optional(),
  }).optional(),
  authority: word('an authority', ['payload', 'source']).optional(),
  replayWindow: replayWindow.optional(),
  repositories: repositories(GITHUB_NAME, 'owner/name'),
});

/** Where there is nothing to choose: the other word is refused with the reason. */
const onlyAuthority = <const Word extends 'payload' | 'source'>(only: Word, why: string) =>
  z.literal(only, { error: () => say(why, `Write authority: ${only}, or leave it out.`) }).optional();

const ONLY_TOLD = 'nothing can be read at such a source, so what it tells is all that is known';

const git = strict('source', {
  kind: z.literal('git'),
  tenant: id.optional(),
  authority: onlyAuthority('source', 'a git source tells nothing: it is always read'),
  poll: looks.optional(),
  replayWindow: replayWindow.optional(),
  repositories: repositories(REPOSITORY_NAME, 'name or group/name'),
});

const cloudevents = strict('source', {
  kind: z.literal('cloudevents'),
  tenant: id.optional(),
  authority: onlyAuthority('payload', ONLY_TOLD),
  from: z.array(text(512)).min(1).max(50).optional(),
  replayWindow: replayWindow.optional(),
  repositories: repositories(REPOSITORY_NAME, 'name or group/name').optional(),
});

const standardWebhooks = strict('source', {
  kind: z.literal('standard-webhooks'),
  tenant: id.optional(),
  webhookSecrets: webhookSecrets('WEBHOOK_SECRET'),
  authority: onlyAuthority('payload', ONLY_TOLD),
  tolerance: duration({ minMs: 10_000, maxMs: 3_600_000 }).optional(),
  replayWindow: replayWindow.optional(),
  repositories: repositories(REPOSITORY_NAME, 'name or group/name').optional(),
});

export const source = z.discriminatedUnion('kind', [github, git, cloudevents, standardWebhooks], {
  error: ({ input }) => {
    if (typeof input !== 'object' || input === null) return undefined;
    const kind = 'kind' in input ? String(input.kind) : '';
    if (kind === '')
      return say('the kind of the source is missing', `Write kind: ${SOURCE_KINDS.join(' or kind: ')}.`);
    const later = notSupported('sourceKind', kind);
    return later === null
      ? say(`"${kind}" is not a kind of source`, suggest(kind, SOURCE_KINDS))
      : say(later.message, later.fix);
  },
});

export type SourceEntry = z.output<typeof source>;
