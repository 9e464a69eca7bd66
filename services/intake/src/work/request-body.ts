/** What may stand in the body of `POST /v1/work`. */
import { HEAD_START_SECONDS } from '@headgate/domain';
import { readJsonBody } from '@headgate/sources';
import { z } from 'zod';

const MAX_HEAD_START_SECONDS = 86_400;

const target = z
  .strictObject({
    kind: z.enum(['pull_request', 'branch', 'issue', 'repository']),
    id: z.union([z.string().min(1).max(1_024), z.int().nonnegative().transform(String)]).optional(),
    ref: z.string().min(1).max(1_024).nullish(),
  })
  .refine(({ kind, id }) => kind === 'repository' || id !== undefined, {
    error: 'a target of this kind needs an id',
    path: ['id'],
  });

const priority = z.union([
  z.enum(['urgent', 'high', 'normal', 'low']).transform((name) => HEAD_START_SECONDS[name]),
  z.int().min(-MAX_HEAD_START_SECONDS).max(MAX_HEAD_START_SECONDS),
]);

const workRequest = z.strictObject({
  route: z.string().min(1).max(200).nullish(),
  repository: z.string().min(1).max(200).nullish(),
  target: target.nullish(),
  workKey: z.string().min(1).nullish(),
  inputVersion: z.string().min(1).nullish(),
  inputs: z.unknown().optional(),
  priority: priority.nullish(),
  reason: z.string().max(2_000).nullish(),
});

export type WorkRequest = z.output<typeof workRequest>;

export type ReadBody =
  | { readonly kind: 'request'; readonly request: WorkRequest; readonly json: unknown }
  /** JSON, but not a request: worth a receipt. `route` where it could be read. */
  | {
      readonly kind: 'invalid';
      readonly detail: string;
      readonly route: string | null;
      readonly json: unknown;
    }
  | { readonly kind: 'unreadable'; readonly detail: string };

export function readWorkRequest(body: Buffer): ReadBody {
  // Under the bounds of every body: no key twice, no NUL, no depth that a later step would fall over.
  const parsed = readJsonBody(body, 'refuse');
  if (parsed.kind === 'unreadable') return parsed;
  const json = parsed.value;
  const read = workRequest.safeParse(json);
  if (read.success) return { kind: 'request', request: read.data, json };
  const detail = read.error.issues
    .map(({ path, message }) => `${path.length === 0 ? 'body' : path.join('.')}: ${message}`)
    .join('; ');
  return { kind: 'invalid', detail, route: routeIn(json), json };
}

const routeIn = (json: unknown): string | null =>
  typeof json === 'object' && json !== null && 'route' in json && typeof json.route === 'string'
    ? json.route
    : null;
