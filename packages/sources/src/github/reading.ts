import { createHash } from 'node:crypto';
import type { RepositoryRef, TargetRef } from '@headgate/domain';
import type { Payload, PullRequestFields } from './fields.js';

/** What one event says about the work: which target, at which version, and where that version stands in order. */
export interface Reading {
  readonly target: TargetRef | null;
  readonly inputVersion: string | null;
  readonly sourceAt: Date | null;
  readonly parentVersions: readonly string[];
  /** When the thing happened that the event tells of; null when the payload does not say. */
  readonly emittedAt: Date | null;
}

interface ReadingContext {
  readonly payload: Payload;
  readonly action: string | null;
  readonly repository: RepositoryRef | null;
  /** X-GitHub-Delivery: names the event, whichever hook delivered it. */
  readonly guid: string;
}

/** One event's row: how it is read, and the same in words for the documentation. */
export interface EventRule {
  /** Stands before the aspect in the work key: `42/pr/7/{aspectWord}/unit`. Null = the event has no aspect. */
  readonly aspectWord: string | null;
  readonly read: (context: ReadingContext) => Reading;
  readonly words: {
    /** The work key behind `{repo}/`. */
    readonly key: string;
    readonly version: string;
    /** What `sourceAt` and `parentVersions` are taken from, and so what decides which version is newer. */
    readonly order: string;
  };
}

export const NOTHING: Reading = {
  target: null,
  inputVersion: null,
  sourceAt: null,
  parentVersions: [],
  emittedAt: null,
};

export const branchTarget = (name: string, aspect: string | null): TargetRef => ({
  kind: 'branch',
  id: name,
  ref: name,
  aspect,
});

export const pullRequestTarget = (pull: PullRequestFields, aspect: string | null): TargetRef => ({
  kind: 'pull_request',
  id: pull.number,
  ref: pull.ref,
  aspect,
});

export const issueTarget = (number: string): TargetRef => ({
  kind: 'issue',
  id: number,
  ref: null,
  aspect: null,
});

export const repositoryTarget = (repository: RepositoryRef, aspect: string | null): TargetRef => ({
  kind: 'repository',
  id: repository.externalId,
  ref: repository.defaultBranch,
  aspect,
});

/** `refs/heads/a/b` is the branch `a/b`; null for tags and anything else. */
export const branchOfRef = (ref: string | null): string | null =>
  ref?.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) || null : null;

/** Which versions this one follows: the head before it, unless there was none or it is the same. */
export const parentsOf = (before: string | null, head: string | null): readonly string[] =>
  before === null || head === null || before === head ? [] : [before];

/** Begins the version of an issue: a digest of its title and body. */
export const CONTENT_PREFIX = 'content:';

/** A version for what has no commit: 32 hex digits over the parts, none of which can run into the next. */
export function contentVersion(prefix: string, ...parts: readonly (string | null)[]): string {
  const digest = createHash('sha256').update(JSON.stringify(parts), 'utf8').digest('hex');
  return `${prefix}:${digest.slice(0, 32)}`;
}
