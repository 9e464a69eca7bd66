import { createHmac } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@headgate/testkit';
import { type BareRepository, bareRepository, FakeGitHub } from '@headgate/testkit/github';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

describe('fake GitHub', () => {
  let folder: string;
  let git: BareRepository;
  let github: FakeGitHub;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-github-'));
    git = await bareRepository({ path: join(folder, 'api.git') });
    await git.commit({ branch: 'agent/t/r', files: { 'a.txt': 'a' } });
    github = await FakeGitHub.start({ logFile: join(folder, 'provider.jsonl') });
    github.addRepository({ id: 42, fullName: 'acme/api', git });
  });
  afterEach(async () => {
    await github.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function call(method: string, path: string, body?: unknown) {
    const init =
      body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    const response = await fetch(`${github.url}/repos/${path}`, { method, ...init });
    return { status: response.status, headers: response.headers, body: await response.json() };
  }
  const openPull = () => call('POST', 'acme/api/pulls', { title: 'T', head: 'acme:agent/t/r', base: 'main' });

  it('shows the repository and where its branches stand', async () => {
    expect(await call('GET', 'acme/api')).toMatchObject({
      status: 200,
      body: { id: 42, default_branch: 'main' },
    });
    const sha = await git.head('agent/t/r');
    expect((await call('GET', 'acme/api/branches/agent/t/r')).body).toMatchObject({ commit: { sha } });
    expect((await call('GET', 'acme/api/git/ref/heads/agent/t/r')).body).toMatchObject({ object: { sha } });
    expect((await call('GET', 'acme/api/git/ref/heads/none')).status).toBe(404);
    expect((await call('GET', 'acme/none')).status).toBe(404);
  });

  it('opens one pull request per head and base, and shows its head as it is now', async () => {
    expect((await openPull()).body).toMatchObject({ number: 1, state: 'open' });
    const second = await openPull();
    expect(second.status).toBe(422);
    expect(second.body).toMatchObject({ errors: [{ message: expect.stringContaining('already exists') }] });
    const sha = await git.commit({ branch: 'agent/t/r', files: { 'b.txt': 'b' } });
    const found = await call('GET', 'acme/api/pulls?head=acme:agent/t/r&state=all');
    expect(found.body).toMatchObject([{ number: 1, head: { sha, ref: 'agent/t/r' } }]);
    expect((await call('GET', 'acme/api/pulls?head=acme:other')).body).toEqual([]);
    await call('PATCH', 'acme/api/pulls/1', { state: 'closed' });
    expect((await call('GET', 'acme/api/pulls')).body).toEqual([]);
    expect((await openPull()).body).toMatchObject({ number: 2 });
    expect(github.log.effects('pull_request.created')).toHaveLength(2);
  });

  it('keeps comments in pages and check runs by commit', async () => {
    for (const body of ['one', 'two', 'three']) await call('POST', 'acme/api/issues/1/comments', { body });
    const first = await call('GET', 'acme/api/issues/1/comments?per_page=2');
    expect(first.body).toMatchObject([{ body: 'one' }, { body: 'two' }]);
    const next = /<([^>]*)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    const last = await fetch(next);
    expect(await last.json()).toMatchObject([{ body: 'three' }]);
    expect(last.headers.get('link')).toBeNull();
    const sha = await git.head();
    await call('POST', 'acme/api/check-runs', { name: 'headgate', head_sha: sha, external_id: 'op' });
    const [check] = github.state.find('acme/api')?.checkRuns ?? [];
    await call('PATCH', `acme/api/check-runs/${check?.id}`, { conclusion: 'success' });
    expect((await call('GET', `acme/api/commits/${sha}/check-runs?check_name=headgate`)).body).toMatchObject({
      total_count: 1,
      check_runs: [{ external_id: 'op', conclusion: 'success' }],
    });
  });

  it('can take effect and answer 502: the log knows both', async () => {
    github.failNext({ fault: { kind: 'bad-gateway', when: 'after' }, method: 'POST', path: /\/pulls$/ });
    expect((await call('GET', 'acme/api/pulls')).status).toBe(200);
    expect((await openPull()).status).toBe(502);
    expect((await call('GET', 'acme/api/pulls')).body).toHaveLength(1);
    expect(github.log.effects()).toMatchObject([
      { status: 201, told: 502, effect: 'pull_request.created', objectId: 'acme/api#1' },
    ]);
    expect((await openPull()).status).toBe(422);
  });

  it('can refuse with Retry-After, or fail before anything happened', async () => {
    github.failNext({ fault: { kind: 'too-many-requests', retryAfterSeconds: 7 } });
    github.failNext({ fault: { kind: 'bad-gateway', when: 'before' } });
    const limited = await openPull();
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '7']);
    expect((await openPull()).status).toBe(502);
    expect(github.log.effects()).toEqual([]);
    expect((await openPull()).status).toBe(201);
  });

  it('can say nothing, or cut the line, after it took effect', async () => {
    github.failNext({ fault: { kind: 'reset', when: 'after' } });
    await expect(openPull()).rejects.toThrow();
    github.failNext({ fault: { kind: 'hang', when: 'after' } });
    const abort = new AbortController();
    const comment = fetch(`${github.url}/repos/acme/api/issues/1/comments`, {
      method: 'POST',
      body: '{"body":"x"}',
      headers: { 'content-type': 'application/json' },
      signal: abort.signal,
    });
    await eventually(() => github.log.effects('comment.created').length === 1, {
      what: 'the comment is made',
    });
    abort.abort();
    await expect(comment).rejects.toThrow();
    expect(github.log.entries.map((it) => it.told)).toEqual(['reset', 'nothing']);
  });

  it('keeps its log in a file too, whole after each answer', async () => {
    await openPull();
    await call('GET', 'acme/api/nothing/here');
    const lines = readFileSync(join(folder, 'provider.jsonl'), 'utf8').trim().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(github.log.entries);
    expect(github.log.entries.map((it) => it.seq)).toEqual([1, 2]);
  });

  it('delivers signed webhooks, and redelivers the same bytes under the same GUID', async () => {
    const received: { headers: NodeJS.Dict<string | string[]>; body: string }[] = [];
    const { server, url } = await receiver((headers, body) => received.push({ headers, body }));
    const options = { url, event: 'ping', payload: { zen: 'é' }, secret: 's', hookId: '9' };
    const first = await github.deliveries.send(options);
    const again = await github.deliveries.redeliver(first.guid);
    const form = await github.deliveries.send({ ...options, encoding: 'form', hookId: null });
    server.close();
    expect(first).toMatchObject({ status: 202, answer: { outcome: 'no-work' } });
    expect(again).toEqual(first);
    expect(received[1]).toEqual(received[0]);
    expect(form.guid).not.toBe(first.guid);
    for (const { headers, body } of received) {
      const digest = createHmac('sha256', 's').update(body).digest('hex');
      expect(headers['x-hub-signature-256']).toBe(`sha256=${digest}`);
    }
    expect(received[2]?.headers['x-github-hook-id']).toBeUndefined();
    expect(new URLSearchParams(received[2]?.body).get('payload')).toBe('{"zen":"é"}');
    expect(await github.deliveries.send({ ...options, url: 'http://127.0.0.1:1/' })).toMatchObject({
      status: null,
    });
  });

  it('ends at once, also with a call that hangs', async () => {
    github.failNext({ fault: { kind: 'hang', when: 'before' } });
    const hanging = openPull();
    hanging.catch(() => {});
    await eventually(() => github.log.entries.length === 1, { what: 'it is logged' });
    await github.stop();
    await expect(hanging).rejects.toThrow();
    await github.stop();
  });
});

function receiver(
  take: (headers: NodeJS.Dict<string | string[]>, body: string) => void,
): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { host: _host, connection: _connection, ...headers } = request.headers;
      take(headers, Buffer.concat(chunks).toString('utf8'));
      response.writeHead(202, { 'content-type': 'application/json' });
      response.end('{"outcome":"no-work"}');
    });
  });
  return new Promise((settle) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') throw new Error('no port');
      settle({ server, url: `http://127.0.0.1:${address.port}/` });
    });
  });
}
