import { invalid, newestFirst, notFound, page, textField } from './answers.js';
import type { Answer, Call, Endpoint } from './endpoint.js';
import { repositoryJson } from './endpoints-repository.js';
import type { ForkRecord, PullRequestRecord } from './forge-state.js';

async function pullJson(call: Call, pull: PullRequestRecord) {
  const { repository, baseUrl } = call;
  const owner = repository.fullName.split('/')[0];
  const side = async (ref: string) => ({
    ref,
    label: `${owner}:${ref}`,
    sha: await repository.git.head(ref),
    repo: repositoryJson(call),
  });
  const head = pull.fork === undefined ? await side(pull.headRef) : forkSide(pull.headRef, pull.fork);
  return {
    id: repository.id * 1000 + pull.number,
    number: pull.number,
    state: pull.state,
    title: pull.title,
    body: pull.body,
    draft: pull.isDraft,
    merged: pull.isMerged,
    head: { ...head, sha: pull.recordedHead ?? head.sha },
    base: await side(pull.baseRef),
    created_at: pull.createdAt,
    updated_at: pull.updatedAt,
    closed_at: pull.state === 'closed' ? pull.updatedAt : null,
    merged_at: pull.isMerged ? pull.updatedAt : null,
    user: pull.user ?? { login: pull.author ?? 'octocat', id: 2, type: 'User' },
    author_association: pull.association ?? 'MEMBER',
    labels: (pull.labels ?? []).map((name) => ({ name })),
    url: `${baseUrl}/repos/${repository.fullName}/pulls/${pull.number}`,
    html_url: `${baseUrl}/${repository.fullName}/pull/${pull.number}`,
  };
}

const forkSide = (ref: string, fork: ForkRecord) => ({
  ref,
  label: `${fork.fullName.split('/')[0]}:${ref}`,
  sha: fork.headSha,
  repo: { id: fork.id, full_name: fork.fullName, pushed_at: fork.pushedAt },
});

/** GitHub lists no more. */
const MOST_FILES = 3_000;

const findPull = (call: Call): PullRequestRecord | undefined =>
  call.repository.pulls.find((it) => String(it.number) === call.params['number']);

const objectIdOf = (call: Call, pull: PullRequestRecord): string =>
  `${call.repository.fullName}#${pull.number}`;

/** `owner:branch`, `branch`; null when it is of another owner. */
function ownBranch(call: Call, head: string): string | null {
  const [owner = '', branch] = head.includes(':') ? head.split(':') : ['', head];
  const isOwn = owner === '' || call.repository.fullName.startsWith(`${owner}/`);
  return isOwn ? (branch ?? null) : null;
}

async function createPull(call: Call): Promise<Answer> {
  const { repository, state, now } = call;
  const [title, head, baseRef] = [textField(call, 'title'), textField(call, 'head'), textField(call, 'base')];
  const headRef = head === null ? null : ownBranch(call, head);
  if (title === null) return invalid('PullRequest', 'missing_field', 'title is missing');
  if (headRef === null || (await repository.git.head(headRef)) === null) {
    return invalid('PullRequest', 'invalid', 'head does not exist');
  }
  if (baseRef === null || (await repository.git.head(baseRef)) === null) {
    return invalid('PullRequest', 'invalid', 'base does not exist');
  }
  const isOpen = (it: PullRequestRecord): boolean =>
    it.state === 'open' && it.headRef === headRef && it.baseRef === baseRef;
  if (repository.pulls.some(isOpen)) {
    return invalid('PullRequest', 'custom', `A pull request already exists for ${head}.`);
  }
  const pull: PullRequestRecord = {
    number: state.nextNumber(repository),
    headRef,
    baseRef,
    title,
    body: textField(call, 'body'),
    state: 'open',
    isMerged: false,
    isDraft: call.body['draft'] === true,
    user: { login: 'mona', id: 7, type: 'User' },
    createdAt: now,
    updatedAt: now,
  };
  repository.pulls.push(pull);
  return {
    status: 201,
    body: await pullJson(call, pull),
    effect: { kind: 'pull_request.created', objectId: objectIdOf(call, pull) },
  };
}

async function listPulls(call: Call): Promise<Answer> {
  const { head, base, sort, state = 'open' } = call.query;
  const headRef = head === undefined ? undefined : ownBranch(call, head);
  const found = call.repository.pulls
    .filter((it) => state === 'all' || it.state === state)
    .filter((it) => headRef === undefined || it.headRef === headRef)
    .filter((it) => base === undefined || it.baseRef === base);
  const sorted = sort === 'updated' ? newestFirst(found) : found;
  return page(call, await Promise.all(sorted.map((it) => pullJson(call, it))));
}

async function updatePull(call: Call): Promise<Answer> {
  const pull = findPull(call);
  if (pull === undefined) return notFound;
  const state = textField(call, 'state');
  pull.title = textField(call, 'title') ?? pull.title;
  pull.body = textField(call, 'body') ?? pull.body;
  if (state === 'open' || state === 'closed') pull.state = state;
  pull.updatedAt = call.now;
  return {
    status: 200,
    body: await pullJson(call, pull),
    effect: { kind: 'pull_request.updated', objectId: objectIdOf(call, pull) },
  };
}

export const pullEndpoints: readonly Endpoint[] = [
  { method: 'post', path: '/pulls', handle: createPull },
  { method: 'get', path: '/pulls', handle: listPulls },
  {
    method: 'get',
    path: '/pulls/:number',
    handle: async (call) => {
      const pull = findPull(call);
      return pull === undefined ? notFound : { status: 200, body: await pullJson(call, pull) };
    },
  },
  { method: 'patch', path: '/pulls/:number', handle: updatePull },
  {
    method: 'get',
    path: '/pulls/:number/files',
    handle: (call) => {
      const pull = findPull(call);
      return pull === undefined ? notFound : page(call, (pull.files ?? []).slice(0, MOST_FILES));
    },
  },
  {
    method: 'get',
    path: '/commits/:sha/pulls',
    handle: async (call) => {
      const all = await Promise.all(call.repository.pulls.map((it) => pullJson(call, it)));
      return page(
        call,
        all.filter((it) => it.head.sha === call.params['sha']),
      );
    },
  },
];
