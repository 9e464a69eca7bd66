/**
 * The head as GitHub's API tells it: the pull request's record *and* the branch it names, since the record can lag
 * the branch by hours and everything derived from it agrees with the stale value. Where the two differ nothing is
 * known. Questions are conditional: what has not changed costs nothing of the rate limit.
 *
 * A fork's branch is often out of sight; then the base repository's own copy of the pull request's head stands in.
 */
import type { Clock, RepositoryRef, RunClaim } from '@headgate/domain';
import { z } from 'zod';
import { type GithubClient, type GithubOutcome, repositoryPath } from '../github/client/index.js';
import { issueContent } from '../github/rules-talk.js';
import type { HeadQuery, HeadReading, PermissionQuery, PermissionReading, SourceReader } from './reader.js';

const user = z.object({ login: z.string() }).nullish();
const pull = z.object({
  state: z.string(),
  merged: z.boolean().nullish(),
  user,
  head: z.object({ sha: z.string(), ref: z.string(), repo: z.object({ id: z.int() }).nullish() }),
  base: z.object({ ref: z.string(), repo: z.object({ id: z.int() }) }),
});
const ref = z.object({ object: z.object({ sha: z.string() }) });
const issue = z.object({ state: z.string(), title: z.string().nullish(), body: z.string().nullish() });
const checks = z.object({
  check_runs: z.array(z.object({ name: z.string(), status: z.string(), conclusion: z.string().nullish() })),
});
const repositoryShape = z.object({ default_branch: z.string() });
const permissionShape = z.object({ permission: z.string(), role_name: z.string().nullish() });
const commit = z.object({ author: user, committer: user });

/** May push, so may be pushed for. */
const WRITING = ['write', 'maintain', 'admin'];

export class GithubSourceReader implements SourceReader {
  readonly #client: GithubClient;
  readonly #clock: Clock;

  constructor(client: GithubClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  readHead(query: HeadQuery): Promise<HeadReading> {
    switch (query.target.kind) {
      case 'pull_request':
        return this.#pullRequest(query);
      case 'issue':
        return this.#issue(query);
      case 'branch':
        return this.#branch(query, query.target.ref ?? query.target.id);
      case 'repository':
        return this.#repository(query);
    }
  }

  async readPermission({ login, sha, ...query }: PermissionQuery): Promise<PermissionReading> {
    const name = login ?? (sha === null ? null : await this.#authorOf(query, sha));
    if (typeof name === 'object' && name !== null) return name;
    if (name === null) return { kind: 'not-allowed', detail: 'No account stands behind the commit.' };
    const answer = await this.#ask(query, permissionShape, 'collaborators', name, 'permission');
    if (answer.kind === 'absent') return { kind: 'not-allowed', detail: `${name} is no collaborator.` };
    if (answer.kind !== 'found') return unreadable(answer);
    const role = answer.value.role_name ?? answer.value.permission;
    return WRITING.includes(answer.value.permission) || WRITING.includes(role)
      ? { kind: 'allowed' }
      : { kind: 'not-allowed', detail: `${name} has the role ${role}; write is needed.` };
  }

  async #authorOf(
    query: Pick<HeadQuery, 'source' | 'repository' | 'signal'>,
    sha: string,
  ): Promise<string | null | PermissionReading> {
    const answer = await this.#ask(query, commit, 'commits', sha);
    if (answer.kind === 'absent' || answer.kind === 'empty') return null;
    if (answer.kind !== 'found') return unreadable(answer);
    return answer.value.author?.login ?? answer.value.committer?.login ?? null;
  }

  async #pullRequest(query: HeadQuery): Promise<HeadReading> {
    const { target, claim } = query;
    const answer = await this.#ask(query, pull, 'pulls', target.id);
    if (answer.kind !== 'found') return notFound(answer);
    const { state, merged, head, base, user: author } = answer.value;
    if (state !== 'open') {
      const reason = `Pull request ${target.id} is ${merged === true ? 'merged' : 'closed'}.`;
      return { kind: 'closed', reason };
    }
    if (head.repo == null) return { kind: 'gone' };
    const isFork = head.repo.id !== base.repo.id;
    const place = isFork ? ['pull', target.id, 'head'] : ['heads', head.ref];
    const branch = await this.#ask(query, ref, 'git', 'ref', ...place);
    if (branch.kind === 'absent' && isFork) return this.#standing(query, head.sha, author?.login ?? null);
    if (branch.kind !== 'found') return notFound(branch);
    const { sha } = branch.value.object;
    if (sha !== head.sha) {
      const detail = `The record of pull request ${target.id} shows ${head.sha}, its branch stands at ${sha}.`;
      return { kind: 'disagrees', detail };
    }
    const wasBase = claim?.baseRef ?? null;
    if (wasBase !== null && wasBase !== base.ref) {
      return {
        kind: 'changed',
        detail: `Pull request ${target.id} goes into ${base.ref} now, not ${wasBase}.`,
      };
    }
    return this.#standing(query, sha, author?.login ?? null);
  }

  async #branch(query: HeadQuery, name: string): Promise<HeadReading> {
    const answer = await this.#ask(query, ref, 'git', 'ref', 'heads', name);
    return answer.kind === 'found' ? this.#standing(query, answer.value.object.sha, null) : notFound(answer);
  }

  async #issue(query: HeadQuery): Promise<HeadReading> {
    const answer = await this.#ask(query, issue, 'issues', query.target.id);
    if (answer.kind !== 'found') return notFound(answer);
    if (answer.value.state !== 'open') {
      return { kind: 'closed', reason: `Issue ${query.target.id} is closed.` };
    }
    return { kind: 'issue', contentVersion: issueContent(answer.value) };
  }

  async #repository(query: HeadQuery): Promise<HeadReading> {
    const named = query.target.ref ?? query.repository.defaultBranch;
    if (named !== null) return this.#branch(query, named);
    const answer = await this.#ask(query, repositoryShape);
    return answer.kind === 'found' ? this.#branch(query, answer.value.default_branch) : notFound(answer);
  }

  /** The head, unless the check that the signal told of has ended otherwise since. */
  async #standing(query: HeadQuery, sha: string, author: string | null): Promise<HeadReading> {
    const head: HeadReading = { kind: 'head', sha, observedAt: this.#clock.now(), author };
    const check = query.claim?.check ?? null;
    if (check === null || sha !== query.inputVersion) return head;
    return (await this.#recovered(query, sha, check)) ?? head;
  }

  async #recovered(
    query: HeadQuery,
    sha: string,
    claimed: NonNullable<RunClaim['check']>,
  ): Promise<HeadReading | null> {
    const answer = await this.#client.read({
      ...asked(query),
      path: repositoryPath(query.repository.fullName, 'commits', sha, 'check-runs'),
      query: { check_name: claimed.name, filter: 'latest', per_page: 100 },
      shape: checks,
    });
    if (answer.kind === 'absent') return null;
    if (answer.kind !== 'found') return notFound(answer);
    const latest = answer.value.check_runs.filter((it) => it.name === claimed.name);
    // Several apps may use one name: while one of them stands as claimed, or runs again, it is so.
    const isOver = latest.length > 0 && latest.every(isOtherwise(claimed.conclusion));
    const now = latest[0]?.conclusion ?? 'nothing';
    return isOver
      ? {
          kind: 'changed',
          detail: `The check ${claimed.name} ended in ${now} since; it was ${claimed.conclusion}.`,
        }
      : null;
  }

  #ask<T>(
    query: Pick<HeadQuery, 'source' | 'repository' | 'signal'>,
    shape: z.ZodType<T>,
    ...parts: readonly string[]
  ): Promise<GithubOutcome<T>> {
    return this.#client.read({
      ...asked(query),
      path: repositoryPath(query.repository.fullName, ...parts),
      shape,
    });
  }
}

const isOtherwise =
  (claimed: string) =>
  ({ status, conclusion }: { status: string; conclusion?: string | null | undefined }): boolean =>
    status === 'completed' && conclusion != null && conclusion !== claimed;

const asked = ({
  source,
  repository,
  signal,
}: {
  readonly source: HeadQuery['source'];
  readonly repository: RepositoryRef;
  readonly signal?: AbortSignal;
}) => ({ source, repository: repository.fullName, ...(signal === undefined ? {} : { signal }) });

function notFound(answer: Exclude<GithubOutcome<unknown>, { kind: 'found' }>): HeadReading {
  if (answer.kind === 'empty') return { kind: 'gone', detail: answer.detail };
  return answer.kind === 'absent' ? { kind: 'gone' } : unreadable(answer);
}

const unreadable = (
  answer: Exclude<GithubOutcome<unknown>, { kind: 'found' }>,
): { kind: 'unavailable'; detail: string } => ({
  kind: 'unavailable',
  detail: answer.kind === 'unchanged' ? 'GitHub said unchanged and no copy is left.' : answer.detail,
});
