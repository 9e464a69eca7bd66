import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Fault } from '@headgate/testkit/github';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { failureOf } from '../../src/github/client/answer.js';
import { Rates } from '../../src/github/client/rates.js';
import { repositoryPath } from '../../src/index.js';
import { APP, aForge, anAppForge } from './world.js';

const branchShape = z.object({ name: z.string(), commit: z.object({ sha: z.string() }) });
const MAIN = repositoryPath('acme/api', 'branches', 'main');

describe('the GitHub client', () => {
  it('gives what it found, and the copy it kept when nothing has changed: that costs nothing', async () => {
    const { client, source, git, github } = await aForge();
    const question = { source, repository: 'acme/api', path: MAIN, shape: branchShape };
    const sha = await git.head();
    expect(await client.read(question)).toMatchObject({
      kind: 'found',
      isCopy: false,
      value: { commit: { sha } },
    });
    const spent = github.rate.used;
    expect(await client.read(question)).toMatchObject({
      kind: 'found',
      isCopy: true,
      value: { commit: { sha } },
    });
    expect(github.rate.used).toBe(spent);
    const next = await git.commit({ files: { 'a.txt': 'a' } });
    expect(await client.read(question)).toMatchObject({ isCopy: false, value: { commit: { sha: next } } });
    expect(github.log.entries.every((it) => it.isAuthorised)).toBe(true);
  });

  it('says unchanged to the etag of the caller, who then needs no copy', async () => {
    const { client, source } = await aForge();
    const question = { source, repository: 'acme/api', path: MAIN, shape: branchShape };
    const first = await client.read({ ...question, etag: null });
    if (first.kind !== 'found') throw new Error(first.kind);
    expect(await client.read({ ...question, etag: first.etag })).toEqual({ kind: 'unchanged' });
    expect(await client.read({ ...question, etag: 'W/"other"' })).toMatchObject({ kind: 'found' });
  });

  it('tells what is absent from what cannot be seen', async () => {
    const { client, source } = await aForge();
    const ask = (repository: string, ...parts: string[]) =>
      client.read({ source, repository, path: repositoryPath(repository, ...parts), shape: z.unknown() });
    expect(await ask('acme/api', 'branches', 'gone')).toMatchObject({ kind: 'absent' });
    expect(await ask('acme/secret', 'branches', 'main')).toMatchObject({
      kind: 'denied',
      detail: expect.stringContaining('acme/secret cannot be seen'),
    });
  });

  it('asks again after a bad gateway or a cut connection, and says unavailable when that does not help', async () => {
    const { client, source, github } = await aForge();
    const question = { source, repository: 'acme/api', path: MAIN, shape: branchShape };
    github.failNext({ fault: { kind: 'bad-gateway', when: 'before' } });
    github.failNext({ fault: { kind: 'reset', when: 'before' } });
    expect(await client.read(question)).toMatchObject({ kind: 'found' });
    github.failNext({ fault: { kind: 'bad-gateway', when: 'before' }, count: 3 });
    expect(await client.read(question)).toMatchObject({
      kind: 'unavailable',
      detail: expect.stringContaining('502'),
    });
  });

  it('gives up in time on a silent GitHub, and at once when it is called off', async () => {
    const { client, source, github } = await aForge({ timeoutMs: 200 });
    const question = { source, repository: 'acme/api', path: MAIN, shape: branchShape };
    github.failNext({ fault: { kind: 'hang', when: 'before' }, count: 5 });
    expect(await client.read(question)).toEqual({
      kind: 'unavailable',
      detail: 'GitHub gave no answer within 200 ms.',
    });
    const calledOff = AbortSignal.abort();
    expect(await client.read({ ...question, signal: calledOff })).toMatchObject({ kind: 'unavailable' });
  });

  it.each<[string, () => Fault, number]>([
    ['a secondary limit', () => ({ kind: 'too-many-requests', retryAfterSeconds: 30 }), 30_000],
    ['a used-up limit', () => ({ kind: 'used-up', resetAt: new Date(Date.now() + 600_000) }), 600_000],
  ])('waits for %s, and asks nothing meanwhile', async (_name, fault, waitMs) => {
    const { client, source, github, clock } = await aForge();
    const question = { source, repository: 'acme/api', path: MAIN, shape: branchShape };
    github.failNext({ fault: fault() });
    const answer = await client.read(question);
    if (answer.kind !== 'limited') throw new Error(answer.kind);
    const aheadMs = answer.until.getTime() - clock.now().getTime();
    expect(aheadMs).toBeGreaterThan(waitMs - 15_000);
    expect(aheadMs).toBeLessThan(waitMs + 2_000);
    const asked = github.log.entries.length;
    expect(await client.read(question)).toMatchObject({ kind: 'limited', until: answer.until });
    expect(github.log.entries.length).toBe(asked);
    expect(client.rates()).toMatchObject([{ limitedUntil: answer.until }]);
    clock.pass(waitMs + 2_000);
    expect(await client.read(question)).toMatchObject({ kind: 'found' });
    expect(client.rates()).toMatchObject([{ limitedUntil: null, limit: 5000 }]);
  });

  it('says denied for a refusal that time does not heal, and unavailable for an answer of another shape', async () => {
    const { client, source, github } = await aForge();
    const question = { source, repository: 'acme/api', path: MAIN, shape: branchShape };
    github.failNext({ fault: { kind: 'forbidden' } });
    expect(await client.read(question)).toMatchObject({ kind: 'denied' });
    expect(await client.read({ ...question, shape: z.array(z.unknown()) })).toMatchObject({
      kind: 'unavailable',
    });
  });

  it('knows a repository without a commit from a change that contradicts another: both are 409', () => {
    const rates = new Rates({ now: () => new Date(), monotonicMs: () => 0 });
    const refused = (message: string) => failureOf({ status: 409, headers: {}, message }, 'token', rates);
    expect(refused('Git Repository is empty.')).toEqual({
      kind: 'empty',
      detail: 'The repository is empty.',
    });
    expect(refused('Git Repository is empty. - https://docs.github.com/rest').kind).toBe('empty');
    expect(refused('Head branch was modified.').kind).toBe('denied');
  });

  it('reads its credentials again for every question, and never repeats them', async () => {
    const { client, source, env } = await aForge();
    const question = { source, repository: 'acme/api', path: MAIN, shape: branchShape };
    delete env['TOKEN'];
    expect(await client.read(question)).toEqual({
      kind: 'denied',
      detail: 'the variable TOKEN is not set. Set TOKEN.',
    });
    env['TOKEN'] = 'ghp_other';
    expect(await client.read(question)).toMatchObject({ kind: 'found' });
    expect(JSON.stringify(client.rates())).not.toContain('ghp_');
  });

  it('walks the pages of a list where they were asked, whatever host a link names', async () => {
    const { client, source, git, github } = await aForge();
    for (const name of ['a', 'b', 'c']) await git.commit({ branch: name, files: { [name]: name } });
    for (const head of ['a', 'b', 'c']) {
      await fetch(`${github.url}/repos/acme/api/pulls`, {
        method: 'POST',
        body: JSON.stringify({ title: head, head, base: 'main' }),
        headers: { 'content-type': 'application/json' },
      });
    }
    const shape = z.array(z.object({ number: z.int() }));
    const path = repositoryPath('acme/api', 'pulls');
    const first = await client.read({ source, repository: 'acme/api', path, query: { per_page: 2 }, shape });
    if (first.kind !== 'found' || first.next === null) throw new Error(first.kind);
    const second = await client.read({ source, repository: 'acme/api', path: first.next, shape });
    expect(second).toMatchObject({ kind: 'found', next: null, value: [{ number: 3 }] });
  });
});

describe('as a GitHub App', () => {
  it('mints a token for this one repository, to read, and no more than was granted', async () => {
    const { client, source, github } = await anAppForge();
    const question = { source, repository: 'acme/api', path: MAIN, shape: branchShape };
    expect(await client.read(question)).toMatchObject({ kind: 'found' });
    expect(await client.read(question)).toMatchObject({ kind: 'found' });
    expect(github.state.tokens.map((it) => it.asked)).toEqual([
      { repositories: ['api'], permissions: { contents: 'read', metadata: 'read' } },
    ]);
  });

  it('takes a new token when the old one was taken back', async () => {
    const { client, source, github } = await anAppForge();
    const question = { source, repository: 'acme/api', path: MAIN, shape: branchShape };
    await client.read(question);
    for (const token of github.state.tokens) token.isRevoked = true;
    expect(await client.read(question)).toMatchObject({ kind: 'found' });
    expect(github.state.tokens).toHaveLength(2);
  });

  it('says where it is not installed, and what is wrong with its file', async () => {
    const { client, source, writeApp, folder } = await anAppForge();
    const path = repositoryPath('acme/other');
    expect(await client.read({ source, repository: 'acme/other', path, shape: z.unknown() })).toEqual({
      kind: 'denied',
      detail: 'The GitHub App is not installed on acme/other.',
    });
    const question = { source, repository: 'acme/api', path: MAIN, shape: branchShape };
    writeApp({ id: APP.id });
    expect(await client.read(question)).toMatchObject({
      kind: 'denied',
      detail: expect.stringContaining('needs id, privateKey (PEM) and webhookSecret'),
    });
    writeFileSync(join(folder, 'app.json'), `{"id":7,"privateKey":"${'x'.repeat(10)}"`);
    expect(await client.read(question)).toMatchObject({ kind: 'denied' });
  });
});

describe('paths', () => {
  it('keep every name in its place', () => {
    expect(repositoryPath('acme/api', 'git/ref/heads', 'fix/a b')).toBe(
      '/repos/acme/api/git/ref/heads/fix/a%20b',
    );
    expect(repositoryPath('acme/api', 'branches', '../../x?y={z}:w')).toBe(
      '/repos/acme/api/branches/%2E%2E/%2E%2E/x%3Fy%3D%7Bz%7D%3Aw',
    );
  });
});
