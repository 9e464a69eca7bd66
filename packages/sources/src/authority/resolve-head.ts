/**
 * What a payload leaves out, read at the forge: the head of the pull request that a comment stands on, the pull request
 * that a fork's commit belongs to, the commit of a new branch.
 *
 * A command on a fork's pull request is worth only the code that its writer saw. The payload does not say which that
 * was; so a fork that was pushed to after the comment is not taken, and its writer is asked to comment again.
 */
import type { Signal, SourcePolicy, TargetRef } from '@headgate/domain';
import { z } from 'zod';
import { type GithubOutcome, repositoryPath } from '../github/client/index.js';
import { githubEventOf } from '../github/events.js';
import { instantAt, isCommitId, textAt } from '../github/fields.js';
import { ruleOf } from '../github/rules.js';
import type { GithubAsker } from './ask-once.js';
import { notRead, type Readout } from './readout.js';

const repo = z.object({ id: z.int(), full_name: z.string() });
const pullShape = z.object({
  number: z.int(),
  state: z.string(),
  merged_at: z.string().nullish(),
  head: z.object({
    sha: z.string(),
    ref: z.string(),
    repo: repo.extend({ pushed_at: z.string().nullish() }).nullish(),
  }),
  base: z.object({ ref: z.string(), repo }),
});
type Pull = z.output<typeof pullShape>;
const refShape = z.object({ object: z.object({ sha: z.string() }) });

interface Query {
  readonly client: GithubAsker;
  readonly source: SourcePolicy;
  readonly signal: Signal;
}

/** Never throws; bounded in time by the client. */
export async function resolveHead(query: Query): Promise<Readout> {
  const { target, repository, inputVersion } = query.signal;
  if (repository === null) return { kind: 'unresolved', detail: 'The signal names no repository.' };
  if (target === null) return byCommit(query);
  if (inputVersion !== null) return { kind: 'read', signal: query.signal };
  switch (target.kind) {
    case 'pull_request':
      return byPullRequest(query, target);
    case 'branch':
      return byBranch(query, target);
    default:
      return { kind: 'unresolved', detail: `A ${target.kind} has no head.` };
  }
}

async function byPullRequest(query: Query, target: TargetRef): Promise<Readout> {
  const answer = await ask(query, pullShape, 'pulls', target.id);
  if (answer.kind === 'absent') {
    return { kind: 'unresolved', detail: `There is no pull request ${target.id}.` };
  }
  if (answer.kind !== 'found') return notRead(answer);
  const pull = answer.value;
  if (pull.state !== 'open') {
    const how = pull.merged_at == null ? 'closed' : 'merged';
    return { kind: 'closed', detail: `Pull request ${target.id} is ${how}.` };
  }
  const moved = movedSinceAsked(query.signal, pull);
  if (moved !== null) return moved;
  const isFork = pull.head.repo?.id !== pull.base.repo.id;
  return {
    kind: 'read',
    signal: {
      ...query.signal,
      target: { ...target, ref: isFork ? null : pull.head.ref },
      inputVersion: pull.head.sha,
    },
  };
}

function movedSinceAsked({ command, data }: Signal, { number, head, base }: Pull): Readout | null {
  if (command == null || head.repo?.id === base.repo.id) return null;
  const askedAt = instantAt(data, 'comment', 'created_at');
  const pushedAt = head.repo?.pushed_at == null ? null : new Date(head.repo.pushed_at);
  if (askedAt !== null && pushedAt !== null && pushedAt.getTime() <= askedAt.getTime()) return null;
  return {
    kind: 'moved',
    detail: `The fork of pull request ${number} was pushed to after the comment. Look at ${head.sha.slice(0, 12)} and comment again.`,
  };
}

/** A check on a fork's commit names neither branch nor pull request. */
async function byCommit(query: Query): Promise<Readout> {
  const { signal } = query;
  const sha = signal.inputVersion;
  if (sha === null || !isCommitId(sha)) {
    return { kind: 'unresolved', detail: 'The signal names no commit to look for.' };
  }
  const answer = await ask(query, z.array(pullShape), 'commits', sha, 'pulls');
  if (answer.kind === 'absent') return { kind: 'unresolved', detail: `The commit ${sha} is not known here.` };
  if (answer.kind !== 'found') return notRead(answer);
  const headed = answer.value.filter((pull) => pull.head.sha === sha);
  const open = headed.filter((pull) => pull.state === 'open');
  const [only, ...others] = open;
  if (only === undefined) {
    return headed.length > 0
      ? { kind: 'closed', detail: `The pull requests of ${sha} are closed.` }
      : { kind: 'unresolved', detail: `No pull request has ${sha} as its head.` };
  }
  if (others.length > 0) {
    const numbers = open.map((pull) => `#${pull.number}`).join(', ');
    return { kind: 'unresolved', detail: `Several pull requests have this head: ${numbers}.` };
  }
  return withPullRequest(signal, only);
}

/** The event is read once more, as if its payload had named the pull request. */
function withPullRequest(signal: Signal, pull: Pull): Readout {
  const event = githubEventOf(signal.type);
  const data = signal.data;
  if (event === null || typeof data !== 'object' || data === null) {
    return { kind: 'unresolved', detail: 'The signal holds no payload.' };
  }
  const subject: unknown = Reflect.get(data, event);
  const named = {
    number: pull.number,
    head: { ref: pull.head.ref, repo: pull.head.repo ?? null },
    base: { ref: pull.base.ref, repo: pull.base.repo },
  };
  const payload = {
    ...data,
    [event]: { ...(typeof subject === 'object' ? subject : {}), pull_requests: [named] },
  };
  const { repository } = signal;
  const reading = ruleOf(event).read({
    payload,
    action: textAt(data, 'action'),
    repository,
    guid: signal.eventId,
  });
  if (reading.target === null) return { kind: 'unresolved', detail: 'The event names nothing to work on.' };
  return { kind: 'read', signal: { ...signal, target: reading.target, data: payload } };
}

async function byBranch(query: Query, target: TargetRef): Promise<Readout> {
  const name = target.ref ?? target.id;
  const answer = await ask(query, refShape, 'git', 'ref', 'heads', name);
  if (answer.kind === 'absent') return { kind: 'closed', detail: `The branch ${name} is gone.` };
  if (answer.kind !== 'found') return notRead(answer);
  return { kind: 'read', signal: { ...query.signal, inputVersion: answer.value.object.sha } };
}

const ask = <T>(
  { client, source, signal }: Query,
  shape: z.ZodType<T>,
  ...parts: readonly string[]
): Promise<GithubOutcome<T>> => {
  const name = signal.repository?.fullName ?? '';
  return client.read({ source, repository: name, path: repositoryPath(name, ...parts), shape });
};
