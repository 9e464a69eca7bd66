/**
 * The few fields of a payload that anything is decided by. Each is read by itself and leniently: what is missing
 * or of another shape is null, never an error, so that a changed payload costs knowledge and not the signal (I20).
 */
import type { Actor, RepositoryRef } from '@headgate/domain';
import { z } from 'zod';

export type Payload = Readonly<Record<string, unknown>>;
/** Something as the API shows it. */
export type Item = Payload;

/** The value if it has the shape, else null. */
function shaped<T>(schema: z.ZodType<T>, value: unknown): T | null {
  const read = schema.safeParse(value);
  return read.success ? read.data : null;
}

/** `at(payload, 'check_run', 'check_suite', 'before')`; undefined when any step is missing. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let node = value;
  for (const key of path) {
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return undefined;
    node = Reflect.get(node, key);
  }
  return node;
}

export const textAt = (payload: unknown, ...path: readonly string[]): string | null => {
  const value = at(payload, ...path);
  return typeof value === 'string' && value !== '' ? value : null;
};

const COMMIT_ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const NO_COMMIT = /^0+$/;

/** A whole commit id (SHA-1 or SHA-256): the only kind of version that can be compared with a head. */
export const isCommitId = (text: string): boolean => COMMIT_ID.test(text) && !NO_COMMIT.test(text);

export const commitAt = (payload: unknown, ...path: readonly string[]): string | null => {
  const value = textAt(payload, ...path);
  return value !== null && isCommitId(value) ? value : null;
};

/** A forge's numeric id as text. */
export const idAt = (payload: unknown, ...path: readonly string[]): string | null => {
  const value = at(payload, ...path);
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? String(value) : null;
};

const EARLIEST_MS = Date.UTC(1970, 0, 1);
const LATEST_MS = Date.UTC(9999, 11, 31);

/** ISO 8601 text, or seconds since 1970 as `push` has them. */
export const instantAt = (payload: unknown, ...path: readonly string[]): Date | null => {
  const value = at(payload, ...path);
  const ms =
    typeof value === 'number' ? value * 1000 : typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return ms >= EARLIEST_MS && ms <= LATEST_MS ? new Date(ms) : null;
};

const repositoryShape = z.object({
  id: z.int().nonnegative(),
  full_name: z.string().min(1),
  default_branch: z.string().min(1).nullish().catch(null),
});

export function repositoryOf(payload: Payload): RepositoryRef | null {
  const read = shaped(repositoryShape, payload['repository']);
  if (read === null) return null;
  return {
    externalId: String(read.id),
    fullName: read.full_name,
    defaultBranch: read.default_branch ?? null,
  };
}

const senderShape = z.object({
  id: z.int().nonnegative(),
  login: z.string().min(1),
  type: z.string().nullish().catch(null),
});

export function actorOf(payload: Payload): Actor | null {
  const sender = shaped(senderShape, payload['sender']);
  if (sender === null) return null;
  return { kind: kindOf(sender.type ?? null), id: String(sender.id), name: sender.login };
}

/** GitHub itself acts as an organisation (security alerts); an organisation's own acts have no person behind them. */
function kindOf(type: string | null): Actor['kind'] {
  if (type === 'Bot') return 'bot';
  return type === 'Organization' ? 'system' : 'user';
}

const pullRequestShape = z.object({
  number: z.int().positive(),
  head: z.object({ ref: z.string().min(1), repo: z.object({ id: z.int() }).nullish().catch(null) }),
  base: z.object({ repo: z.object({ id: z.int() }).nullish().catch(null) }),
});

export interface PullRequestFields {
  readonly number: string;
  /** The head branch, if it lies in this repository; a fork's branch is none of ours. */
  readonly ref: string | null;
}

/** A pull request into `repository`; null for one into another (forks list those of their upstream, too). */
export function pullRequestOf(value: unknown, repository: RepositoryRef | null): PullRequestFields | null {
  const read = shaped(pullRequestShape, value);
  if (read === null) return null;
  const inHere = (repo: { readonly id: number } | null | undefined): boolean =>
    repo !== null && repo !== undefined && String(repo.id) === repository?.externalId;
  if (!inHere(read.base.repo)) return null;
  return { number: String(read.number), ref: inHere(read.head.repo) ? read.head.ref : null };
}

/** Those of a check's `pull_requests` that go into this repository. Empty for pull requests from forks. */
export function pullRequestsOf(value: unknown, repository: RepositoryRef | null): PullRequestFields[] {
  if (!Array.isArray(value)) return [];
  return value.map((it) => pullRequestOf(it, repository)).filter((it) => it !== null);
}
