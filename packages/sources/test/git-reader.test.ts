import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RepositoryPolicy, SourcePolicy, TargetRef } from '@headgate/domain';
import { GitSourceReader, gitRepositoryId, type HeadReading } from '@headgate/sources';
import { type BareRepository, bareRepository } from '@headgate/testkit/github';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const NOW = new Date('2026-11-30T10:00:00Z');
const clock = { now: () => NOW, monotonicMs: () => 0 };
const REPOSITORY = { externalId: '42', fullName: 'acme/api', defaultBranch: null };

const branch = (name: string): TargetRef => ({ kind: 'branch', id: name, ref: name, aspect: null });
const WHOLE: TargetRef = { kind: 'repository', id: '42', ref: null, aspect: null };

function sourceAt(url: string, changes: Partial<RepositoryPolicy> = {}): SourcePolicy {
  const repository = { fullName: 'Acme/API', url, defaultBranch: null, ciTrusted: false, ...changes };
  return {
    id: 'acme',
    kind: 'github',
    webhookSecrets: [],
    app: null,
    token: null,
    baseUrl: null,
    authority: 'payload',
    replayWindowMs: null,
    toleranceMs: 300_000,
    from: [],
    scan: null,
    redeliveries: 0,
    repositories: [repository],
    tenant: 'default',
    realForge: false,
  };
}

describe('reading a head from git', () => {
  let bare: BareRepository;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'headgate-reader-'));
    bare = await bareRepository({ path: join(folder, 'repository.git') });
    await bare.commit({ branch: 'feature/x', files: { 'a.txt': 'a' } });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const read = (
    target: TargetRef,
    url: string = bare.path,
    options: {
      timeoutMs?: number;
      gitPath?: string;
      signal?: AbortSignal;
      policy?: Partial<RepositoryPolicy>;
    } = {},
  ): Promise<HeadReading> => {
    const { signal, policy, ...rest } = options;
    const query = { source: sourceAt(url, policy), repository: REPOSITORY, target };
    return new GitSourceReader({ clock, ...rest }).readHead(
      signal === undefined ? query : { ...query, signal },
    );
  };

  it('I6: gives the commit a branch stands at, also with a slash, by path and by file url', async () => {
    const main = { kind: 'head', sha: await bare.head(), observedAt: NOW };
    expect(await read(branch('main'))).toEqual(main);
    expect(await read(branch('main'), bare.url)).toEqual(main);
    expect(await read(branch('feature/x'))).toEqual({ ...main, sha: await bare.head('feature/x') });
  });

  it('I6: sees the branch move', async () => {
    const before = await read(branch('moving'));
    const sha = await bare.commit({ branch: 'moving', files: { 'm.txt': '1' } });
    expect(before).toEqual({ kind: 'gone' });
    expect(await read(branch('moving'))).toMatchObject({ sha });
  });

  it('reads the default branch for a target that has none of its own', async () => {
    const sha = await bare.head();
    expect(await read(WHOLE)).toMatchObject({ kind: 'head', sha });
    expect(await read(WHOLE, bare.path, { policy: { defaultBranch: 'feature/x' } })).toMatchObject({
      sha: await bare.head('feature/x'),
    });
  });

  it("reads a pull request's branch here, and a fork's under the forge's name for it", async () => {
    const pull = (ref: string | null): TargetRef => ({ kind: 'pull_request', id: '7', ref, aspect: 'unit' });
    const sha = await bare.head('feature/x');
    expect(await read(pull('feature/x'))).toMatchObject({ sha });
    expect(await read(pull(null))).toEqual({ kind: 'gone' });
    execFileSync('git', ['--git-dir', bare.path, 'update-ref', 'refs/pull/7/head', String(sha)]);
    expect(await read(pull(null))).toMatchObject({ sha });
  });

  it('is not taken in by a name that merely begins or ends the same, or is a pattern', async () => {
    expect(await read(branch('feature'))).toEqual({ kind: 'gone' });
    expect(await read(branch('x'))).toEqual({ kind: 'gone' });
    for (const name of ['*', 'ma[i]n', 'feature/', '--all', 'a..b', 'main\n', '-main', 'main.lock', '']) {
      expect(await read(branch(name)), JSON.stringify(name)).toEqual({ kind: 'gone' });
    }
  });

  it('reads a checkout, one of another owner, and an empty repository', async () => {
    const checkout = join(folder, 'checkout');
    execFileSync('git', ['clone', '--quiet', bare.path, checkout]);
    expect(await read(branch('main'), checkout)).toMatchObject({ sha: await bare.head() });
    const foreign = await bareRepository({ path: join(folder, 'foreign.git') });
    if (process.getuid?.() === 0) chownSync(foreign.path, 65534, 65534);
    expect(await read(branch('main'), foreign.path)).toMatchObject({ kind: 'head' });
    const empty = await bareRepository({ path: join(folder, 'empty.git'), commits: 0 });
    expect(await read(WHOLE, empty.path)).toEqual({ kind: 'gone' });
  });

  it('I6: says unavailable of a folder that is no repository, or none, or not configured', async () => {
    expect(await read(branch('main'), folder)).toMatchObject({ kind: 'unavailable' });
    expect(await read(branch('main'), join(folder, 'nowhere'))).toMatchObject({ kind: 'unavailable' });
    const other = { ...REPOSITORY, fullName: 'acme/other' };
    const query = { source: sourceAt(bare.path), repository: other, target: WHOLE };
    expect(await new GitSourceReader({ clock }).readHead(query)).toMatchObject({ kind: 'unavailable' });
  });

  it('does not look for a repository in the folders above', async () => {
    const above = join(folder, 'above');
    execFileSync('git', ['clone', '--quiet', bare.path, above]);
    const inside = mkdtempSync(join(above, 'inside-'));
    expect(await read(branch('main'), inside)).toMatchObject({ kind: 'unavailable' });
  });

  it.each([
    'ext::sh -c "touch /tmp/headgate-owned"',
    '--upload-pack=touch',
    'http://127.0.0.1/a.git',
    'git://127.0.0.1/a',
    'file://host/a',
    'ssh://-oProxyCommand=x/a',
    '',
  ])('refuses the url %s', async (url) => {
    expect(await read(branch('main'), url)).toMatchObject({ kind: 'unavailable' });
    expect(existsSync('/tmp/headgate-owned')).toBe(false);
  });

  it('asks any other place by ls-remote, without shell, terminal, configuration or the names in the url', async () => {
    const witness = join(folder, 'witness.json');
    const gitPath = join(folder, 'git-witness');
    const sha = 'c3'.repeat(20);
    const script = `#!${process.execPath}
const { writeFileSync } = require('node:fs');
writeFileSync(${JSON.stringify(witness)}, JSON.stringify({ args: process.argv.slice(2), env: process.env }));
if (process.argv.includes('https://user:hunter2@example.invalid/fails.git')) {
  console.error("fatal: unable to access 'https://user:hunter2@example.invalid/fails.git/'");
  process.exit(128);
}
console.log('${'d4'.repeat(20)}\\trefs/heads/x/refs/heads/main\\n${sha}\\trefs/heads/main');`;
    writeFileSync(gitPath, script);
    chmodSync(gitPath, 0o755);
    for (const url of [
      'https://example.invalid/a.git',
      'ssh://git@example.invalid/a.git',
      'git@example.invalid:a/b.git',
    ]) {
      expect(await read(branch('main'), url, { gitPath })).toMatchObject({ kind: 'head', sha });
      const { args, env } = JSON.parse(readFileSync(witness, 'utf8'));
      expect(args.slice(-4)).toEqual(['--quiet', '--', url, 'refs/heads/main']);
      expect(env).toMatchObject({
        GIT_TERMINAL_PROMPT: '0',
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_ALLOW_PROTOCOL: 'file:https:ssh',
      });
      expect(Object.keys(env)).not.toContain('DATABASE_URL');
    }
    const failed = await read(branch('main'), 'https://user:hunter2@example.invalid/fails.git', { gitPath });
    expect(failed).toMatchObject({ kind: 'unavailable' });
    expect(JSON.stringify(failed)).not.toContain('hunter2');
  });

  it('I6: a repository that never answers costs its own run the time-out, and leaves no process', async () => {
    const stuck = await stuckRepository(folder, 'stuck.git');
    const reading = await read(branch('main'), stuck, { timeoutMs: 300 });
    expect(reading).toEqual({ kind: 'unavailable', detail: 'git gave no answer within 300 ms.' });
    await expect.poll(() => processesNaming(stuck), { timeout: 30_000 }).toEqual([]);
  });

  it('is ended by its caller at once', async () => {
    const stuck = await stuckRepository(folder, 'aborted.git');
    const caller = new AbortController();
    const reading = read(branch('main'), stuck, { signal: caller.signal });
    await expect.poll(() => processesNaming(stuck).length, { timeout: 30_000 }).toBeGreaterThan(0);
    caller.abort();
    expect(await reading).toEqual({ kind: 'unavailable', detail: 'git was stopped: aborted.' });
    await expect.poll(() => processesNaming(stuck), { timeout: 30_000 }).toEqual([]);
    expect(await read(branch('main'), stuck, { signal: AbortSignal.abort() })).toMatchObject({
      kind: 'unavailable',
    });
  });

  it('says so when there is no git', async () => {
    const reading = await read(branch('main'), bare.path, { gitPath: join(folder, 'no-git') });
    expect(reading).toMatchObject({
      kind: 'unavailable',
      detail: expect.stringContaining('could not be started'),
    });
  });

  it('names a repository without a forge by where it is, not by how that is written', () => {
    expect(gitRepositoryId(bare.path)).toBe(gitRepositoryId(bare.url));
    expect(gitRepositoryId('https://a:b@example.com/x.git')).toBe(gitRepositoryId('https://example.com/x'));
    expect(gitRepositoryId('https://example.com/y')).not.toBe(gitRepositoryId('https://example.com/x'));
  });
});

/** Git waits for ever to open its packed refs: they are a pipe that nobody writes to. */
async function stuckRepository(folder: string, name: string): Promise<string> {
  const { path } = await bareRepository({ path: join(folder, name), commits: 0 });
  execFileSync('mkfifo', [join(path, 'packed-refs')]);
  return path;
}

const processesNaming = (text: string): string[] =>
  readdirSync('/proc').filter((entry) => {
    if (!/^\d+$/.test(entry) || Number(entry) === process.pid) return false;
    try {
      return readFileSync(`/proc/${entry}/cmdline`, 'utf8').includes(text);
    } catch {
      return false;
    }
  });
