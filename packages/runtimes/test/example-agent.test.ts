import { chmod, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gitOutput } from '@headgate/git';
import {
  agentEnvironment,
  artifactPath,
  CommandRuntime,
  chooseSandbox,
  collectChanges,
  createExampleRepository,
  prepareWorkspace,
  probeCapabilities,
  type RuntimeResult,
  readAgentResult,
  resolveCommand,
  runVerify,
  type Workspace,
  writeAgentInput,
} from '@headgate/runtimes';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { tidy } from '../src/example-agent/tidy-notes.js';
import { build, eventually, type Place, place, runId, runs } from './places.js';

const sandbox = await chooseSandbox();
const runtime = new CommandRuntime(sandbox.provider);
/** For what hangs: a busy machine is slow to start what is verified. */
const limits = { wallClockMs: 60_000, silenceMs: 60_000, sandboxStartMs: 60_000, outputBytes: 1_000_000 };

let here: Place;
let remote: string;
beforeAll(build);
beforeEach(async () => {
  here = await place();
  remote = join(here.path, 'forge', 'example.git');
});
afterEach(() => here.remove());

async function workspace(sha: string): Promise<Workspace> {
  const result = await prepareWorkspace({
    mirrorsDir: join(here.path, 'mirrors'),
    workspacesDir: join(here.path, 'workspaces'),
    runId,
    attempt: 1,
    repositoryUrl: remote,
    sha,
    ref: 'refs/heads/main',
  });
  if (result.kind !== 'ready') throw new Error(JSON.stringify(result));
  return result.workspace;
}

async function runAgent(
  { folders, marker, baseSha }: Workspace,
  route: string,
  env: Record<string, string> = {},
  options: { limits?: Partial<typeof limits>; signal?: AbortSignal } = {},
): Promise<RuntimeResult> {
  await writeAgentInput(folders, {
    version: 1,
    run: { id: 'run_1', attempt: 1 },
    task: { id: 'task_1', route, workKey: 'k' },
    repository: { fullName: 'headgate/example', baseSha, ref: 'refs/heads/main' },
    target: null,
    prompt: 'Do it.',
  });
  const command = resolveCommand(['headgate-example-agent']);
  if (command.kind !== 'resolved') throw new Error(command.detail);
  return runtime.run({
    argv: command.argv,
    cwd: folders.workspace,
    env: agentEnvironment(folders, env),
    marker,
    limits: { ...limits, ...options.limits },
    logPath: artifactPath({
      artifactsDir: join(here.path, 'artifacts'),
      runId,
      attempt: 1,
      name: 'agent.log',
    }),
    isTrusted: command.isExampleAgent,
    signal: options.signal ?? new AbortController().signal,
    graceMs: 500,
  });
}

const verify = ({ folders, marker }: Workspace) =>
  runVerify({
    commands: ['node --test'],
    runtime,
    cwd: folders.workspace,
    env: agentEnvironment(folders),
    marker,
    limits,
    logPath: (index) => join(here.path, 'artifacts', `verify-${index}.log`),
    isTrusted: true,
    signal: new AbortController().signal,
  });

describe('createExampleRepository', () => {
  it('makes the same repository everywhere, once, also when several do it at the same time', async () => {
    const made = await Promise.all([1, 2, 3, 4].map(() => createExampleRepository(remote)));
    expect(made.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect(new Set(made.map(({ headSha }) => headSha)).size).toBe(1);
    const elsewhere = await createExampleRepository(join(here.path, 'other.git'));
    expect(elsewhere.headSha).toBe(made[0]?.headSha);
    await gitOutput({ gitDir: remote, args: ['fsck', '--strict'] });
  });

  it('leaves an existing one as it is', async () => {
    const { headSha } = await createExampleRepository(remote);
    const tree = (await gitOutput({ gitDir: remote, args: ['rev-parse', `${headSha}^{tree}`] }))
      .toString()
      .trim();
    const env = {
      GIT_AUTHOR_NAME: 'a',
      GIT_AUTHOR_EMAIL: 'a',
      GIT_COMMITTER_NAME: 'a',
      GIT_COMMITTER_EMAIL: 'a',
    };
    const next = await gitOutput({
      gitDir: remote,
      env,
      args: ['commit-tree', '-p', headSha, '-m', 'more', tree],
    });
    await gitOutput({ gitDir: remote, args: ['update-ref', 'refs/heads/main', next.toString().trim()] });
    const again = await createExampleRepository(remote);
    expect(again).toEqual({ path: remote, headSha: next.toString().trim(), isNew: false });
  });
});

describe('the example agent', () => {
  it('fixes the failing check: the verification fails before and passes after', async () => {
    const { headSha } = await createExampleRepository(remote);
    const place = await workspace(headSha);
    expect(await verify(place)).toMatchObject({ kind: 'failed', reasonCode: 'VERIFIER_FAILED' });
    expect(await runAgent(place, 'fix-failing-check')).toMatchObject({ kind: 'exited', code: 0 });
    const { folders, mirror, baseSha } = place;
    const gitDir = folders.resultGitDir;
    const result = await collectChanges({ workspace: folders.workspace, mirror, baseSha, gitDir });
    expect(result).toMatchObject({ kind: 'changes', files: [{ path: 'src/price.js', status: 'modified' }] });
    expect(await verify(place)).toMatchObject({ kind: 'passed' });
    expect(await readAgentResult(folders)).toMatchObject({
      kind: 'result',
      summary: expect.stringContaining('src/price.js: replaced'),
    });
  });

  it('tidies the notes, and has nothing to do where they are tidy', async () => {
    const { headSha } = await createExampleRepository(remote);
    const place = await workspace(headSha);
    const { folders, mirror, baseSha } = place;
    await runAgent(place, 'tidy');
    const gitDir = folders.resultGitDir;
    const collect = () => collectChanges({ workspace: folders.workspace, mirror, baseSha, gitDir });
    const result = await collect();
    expect(result).toMatchObject({ kind: 'changes', files: [{ path: 'NOTES.md', status: 'modified' }] });
    const tidied = await readFile(join(folders.workspace, 'NOTES.md'), 'utf8');
    expect(tidy(tidied)).toBe(tidied);
    expect(await runAgent(place, 'tidy')).toMatchObject({
      kind: 'exited',
      code: 0,
      tail: /nothing to do/,
    } as object);
    expect(await collect()).toMatchObject(result.kind === 'changes' ? { tree: result.tree } : {});
  });

  it('misbehaves as asked, and is stopped', async () => {
    const { headSha } = await createExampleRepository(remote);
    const place = await workspace(headSha);
    const as = (mode: string, tight: Partial<typeof limits> = {}) =>
      runAgent(place, 'tidy', { HEADGATE_EXAMPLE_MODE: mode }, { limits: tight });
    expect(await as('fail')).toMatchObject({ kind: 'exited', code: 1 });
    expect(await as('hang', { silenceMs: 1_500 })).toMatchObject({ kind: 'timeout', which: 'silence' });
    expect(await as('noisy', { outputBytes: 50_000 })).toMatchObject({ kind: 'output-limit' });
    expect(await as('unheard of')).toMatchObject({ kind: 'exited', code: 1 });
  });

  it.skipIf(sandbox.provider.name !== 'pid-namespace')(
    'Q5: what it leaves behind in another session is gone with it',
    async () => {
      const { headSha } = await createExampleRepository(remote);
      const { processesWith } = await import('../src/sandbox/process-identity.js');
      const place = await workspace(headSha);
      const result = await runAgent(place, 'tidy', { HEADGATE_EXAMPLE_MODE: 'fork' });
      expect(result.tail).toMatch(/left process \d+ behind/);
      expect(processesWith('HEADGATE_SANDBOX', place.marker)).toEqual([]);
    },
  );

  it('takes its time audibly, and a cancel ends it', async () => {
    const { headSha } = await createExampleRepository(remote);
    const controller = new AbortController();
    const running = runAgent(
      await workspace(headSha),
      'tidy',
      { HEADGATE_EXAMPLE_SLEEP_MS: '600000' },
      { signal: controller.signal },
    );
    const log = join(here.path, 'artifacts');
    await eventually('it says something', async () => {
      const { readdir } = await import('node:fs/promises');
      const [folder] = await readdir(log).catch(() => []);
      if (folder === undefined) return null;
      const text = await readFile(join(log, folder, '1', 'agent.log'), 'utf8').catch(() => '');
      return text.includes('working') ? true : null;
    });
    controller.abort();
    expect(await running).toMatchObject({ kind: 'killed' });
  });
});

describe('readAgentResult', () => {
  it('takes nothing but a small plain file with a summary', async () => {
    const { headSha } = await createExampleRepository(remote);
    const { folders } = await workspace(headSha);
    const file = join(folders.output, 'result.json');
    expect(await readAgentResult(folders)).toEqual({ kind: 'none' });
    for (const text of ['{', '[]', '{"summary": 3}', JSON.stringify({ summary: 'x'.repeat(70_000) })]) {
      await writeFile(file, text);
      expect((await readAgentResult(folders)).kind).toBe('unreadable');
    }
    await writeFile(file, '{"summary": "Fine, @all"}');
    expect(await readAgentResult(folders)).toEqual({ kind: 'result', summary: 'Fine, @\u200ball' });
    await rm(file);
    await symlink('/etc/passwd', file);
    expect(await readAgentResult(folders)).toEqual({ kind: 'unreadable', detail: 'result.json: ELOOP' });
  });
});

describe('writeAgentInput', () => {
  it('is read-only, and context files are plain names', async () => {
    const { headSha } = await createExampleRepository(remote);
    const { folders, baseSha } = await workspace(headSha);
    const input = {
      version: 1,
      run: { id: 'run_1', attempt: 1 },
      task: { id: 'task_1', route: 'tidy', workKey: 'k' },
      repository: { fullName: 'a/b', baseSha, ref: null },
      target: null,
      prompt: null,
    } as const;
    await expect(writeAgentInput(folders, input, [{ name: '../x', content: '' }])).rejects.toThrow(TypeError);
    const file = await writeAgentInput(folders, input, [{ name: 'check.log', content: 'untrusted' }]);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ ...input, context: ['context/check.log'] });
    const { stat } = await import('node:fs/promises');
    expect((await stat(file)).mode & 0o222).toBe(0);
    expect((await stat(folders.input)).mode & 0o222).toBe(0);
    await chmod(folders.input, 0o755);
  });
});

describe('resolveCommand and probeCapabilities', () => {
  it('knows the example agent by name, finds programs, and says what it does not find', () => {
    expect(resolveCommand(['sh', '-c', 'true'])).toMatchObject({ kind: 'resolved', isExampleAgent: false });
    expect(resolveCommand(['/bin/sh'])).toMatchObject({ kind: 'resolved', argv: ['/bin/sh'] });
    expect(resolveCommand(['no-such-agent-anywhere'])).toMatchObject({ kind: 'not-found' });
    expect(resolveCommand([])).toMatchObject({ kind: 'not-found' });
  });

  it('Q20: advertises only what was tried, and agents of users only with isolation', async () => {
    const { capabilities } = await probeCapabilities({ workspacesDir: here.path, sandbox });
    expect(capabilities).toMatchObject({
      isolation: sandbox.provider.isolation,
      agentRuns: sandbox.provider.mayRunUntrusted,
      limits: sandbox.limits,
      exampleAgent: true,
      node: process.versions.node,
      git: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    });
    expect(await runs(process.pid)).toBe(true);
  });
});
