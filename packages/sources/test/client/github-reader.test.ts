/** Freshness against GitHub's API: the record and the branch, the base, the check, the people (I6). */
import type { RepositoryRef, RunClaim, SourcePolicy, TargetRef } from '@headgate/domain';
import type { PullRequestRecord } from '@headgate/testkit/github';
import { describe, expect, it } from 'vitest';
import { freshness, GithubSourceReader } from '../../src/index.js';
import { aForge } from './world.js';

const REPOSITORY: RepositoryRef = { externalId: '42', fullName: 'acme/api', defaultBranch: 'main' };
const PULL: TargetRef = { kind: 'pull_request', id: '7', ref: 'topic', aspect: null };

async function aReader(options: Parameters<typeof aForge>[0] = {}) {
  const forge = await aForge(options);
  const sha = await forge.git.commit({ branch: 'topic', files: { 'a.txt': 'a' } });
  const repository = forge.github.state.find('acme/api');
  if (repository === null) throw new Error('no repository');
  const pull: PullRequestRecord = {
    number: 7,
    headRef: 'topic',
    baseRef: 'main',
    title: 'A',
    body: null,
    state: 'open',
    isMerged: false,
    isDraft: false,
    createdAt: '2026-01-01T00:00:00Z',
    updatedAt: '2026-01-01T00:00:00Z',
  };
  repository.pulls.push(pull);
  const reader = new GithubSourceReader(forge.client, forge.clock);
  const source = { ...forge.source, self: undefined } as unknown as SourcePolicy;
  const read = (claim: RunClaim | null = null, target: TargetRef = PULL, inputVersion = sha) =>
    reader.readHead({ source, repository: REPOSITORY, target, claim, inputVersion });
  const claiming = (change: Partial<RunClaim>): RunClaim => ({
    check: null,
    baseRef: null,
    asker: null,
    asked: null,
    ...change,
  });
  return { ...forge, sha, repository, pull, reader, source, read, claiming };
}

describe('the head as GitHub tells it', () => {
  it('I6: is fresh where record and branch agree, and free when it is asked again', async () => {
    const { read, sha, github } = await aReader();
    expect(await read()).toMatchObject({ kind: 'head', sha, author: 'octocat' });
    const spent = github.rate.used;
    expect(await read()).toMatchObject({ kind: 'head', sha });
    expect(github.rate.used).toBe(spent);
  });

  it('I6: of a repository without a commit the head is gone, not out of reach', async () => {
    const { read, git, reader, source } = await aReader();
    await git.deleteBranch('topic');
    await git.deleteBranch('main');
    const main: TargetRef = { kind: 'branch', id: 'main', ref: 'main', aspect: null };
    const reading = await read(null, main);
    expect(reading).toEqual({ kind: 'gone', detail: 'The repository is empty.' });
    expect(freshness({ target: main, inputVersion: 'a'.repeat(40) }, reading)).toEqual({
      kind: 'stale',
      reasonCode: 'TARGET_CLOSED',
      detail: 'The repository is empty.',
    });
    const asker = { source, repository: REPOSITORY, login: null, sha: 'a'.repeat(40) };
    expect((await reader.readPermission(asker)).kind).toBe('not-allowed');
  });

  it('I6: a record that lags its branch is no head: the two disagree', async () => {
    const { read, pull, sha } = await aReader();
    pull.recordedHead = 'e'.repeat(40);
    const reading = await read();
    expect(reading).toMatchObject({ kind: 'disagrees', detail: expect.stringContaining(sha) });
    expect(freshness({ target: PULL, inputVersion: sha }, reading)).toMatchObject({
      kind: 'unavailable',
      reasonCode: 'SOURCE_DISAGREES',
    });
  });

  it('I6: closed, merged and reopened; force-pushed; gone', async () => {
    const { read, pull, git, sha } = await aReader();
    pull.state = 'closed';
    expect(await read()).toMatchObject({ kind: 'closed', reason: 'Pull request 7 is closed.' });
    pull.isMerged = true;
    expect(await read()).toMatchObject({ kind: 'closed', reason: 'Pull request 7 is merged.' });
    pull.state = 'open';
    pull.isMerged = false;
    expect(await read()).toMatchObject({ kind: 'head', sha });
    const next = await git.commit({ branch: 'topic', files: { 'a.txt': 'b' } });
    const moved = await read();
    expect(moved).toMatchObject({ kind: 'head', sha: next });
    expect(freshness({ target: PULL, inputVersion: sha }, moved)).toMatchObject({
      reasonCode: 'STALE_INPUT',
    });
    expect(await read(null, { ...PULL, id: '8' })).toEqual({ kind: 'gone' });
  });

  it('I6: a base that changed, and a check that no longer stands as it was told, are stale', async () => {
    const { read, claiming, repository, sha } = await aReader();
    expect(await read(claiming({ baseRef: 'main' }))).toMatchObject({ kind: 'head' });
    const based = await read(claiming({ baseRef: 'release' }));
    expect(freshness({ target: PULL, inputVersion: sha }, based)).toMatchObject({
      kind: 'stale',
      reasonCode: 'STALE_INPUT',
      detail: 'Pull request 7 goes into main now, not release.',
    });
    const failing = claiming({ check: { name: 'unit', conclusion: 'failure' } });
    const checkRun = {
      id: 1,
      headSha: sha,
      fields: { name: 'unit', status: 'completed', conclusion: 'failure' },
    };
    repository.checkRuns.push(checkRun);
    expect(await read(failing)).toMatchObject({ kind: 'head' });
    checkRun.fields = { name: 'unit', status: 'in_progress', conclusion: '' };
    expect(await read(failing)).toMatchObject({ kind: 'head' });
    checkRun.fields = { name: 'unit', status: 'completed', conclusion: 'success' };
    expect(freshness({ target: PULL, inputVersion: sha }, await read(failing))).toMatchObject({
      reasonCode: 'STALE_INPUT',
      detail: 'The check unit ended in success since; it was failure.',
    });
  });

  it('I6: a fork’s pull request is read by its own head; an edited or closed issue is stale', async () => {
    const { read, pull, repository } = await aReader();
    const headSha = 'd'.repeat(40);
    pull.fork = { id: 99, fullName: 'eve/api', headSha, pushedAt: '2026-01-01T00:00:00Z' };
    expect(await read(null, { ...PULL, ref: null }, headSha)).toMatchObject({ kind: 'head', sha: headSha });

    repository.issues.push({ number: 3, title: 'Broken', body: 'It is.', state: 'open' });
    const target: TargetRef = { kind: 'issue', id: '3', ref: null, aspect: null };
    const first = await read(null, target);
    if (first.kind !== 'issue') throw new Error(first.kind);
    const question = { target, inputVersion: first.contentVersion };
    expect(freshness(question, first)).toEqual({ kind: 'fresh' });
    const [issue] = repository.issues;
    if (issue !== undefined) issue.body = 'Something else.';
    expect(freshness(question, await read(null, target))).toMatchObject({ reasonCode: 'STALE_INPUT' });
    if (issue !== undefined) issue.state = 'closed';
    expect(await read(null, target)).toMatchObject({ kind: 'closed' });
  });

  it('I6: a GitHub that hangs, fails or limits is unavailable, within the bound', async () => {
    const { read, github } = await aReader({ timeoutMs: 400 });
    github.failNext({ fault: { kind: 'hang', when: 'before' } });
    expect(await read()).toMatchObject({ kind: 'unavailable' });
    github.failNext({ fault: { kind: 'bad-gateway', when: 'before' }, count: 3 });
    expect(await read()).toMatchObject({ kind: 'unavailable' });
    github.clearFaults();
    github.failNext({ fault: { kind: 'used-up', resetAt: new Date(Date.now() + 60_000) } });
    expect(await read()).toMatchObject({ kind: 'unavailable' });
  });

  it('I7: who may not write now may not ask; for a commit its author is asked about', async () => {
    const { reader, source, repository, sha } = await aReader();
    const may = (login: string | null) =>
      reader.readPermission({ source, repository: REPOSITORY, login, sha });
    expect(await may('ada')).toEqual({ kind: 'allowed' });
    expect(await may(null)).toEqual({ kind: 'allowed' });
    repository.permissions.set('ada', 'read');
    repository.permissions.set('octocat', 'none');
    expect(await may('ada')).toMatchObject({ kind: 'not-allowed' });
    expect(await may(null)).toMatchObject({
      kind: 'not-allowed',
      detail: expect.stringContaining('octocat'),
    });
  });
});
