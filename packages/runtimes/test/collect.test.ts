import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import {
  chmod,
  link,
  mkdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gitOutput } from '@headgate/git';
import { type CollectInput, type CollectResult, collectChanges, prepareWorkspace } from '@headgate/runtimes';
import { registerSecret } from '@headgate/telemetry';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { removeTree } from '../src/workspace/remove.js';
import { type Place, place, repositoryOf, runId, writeFiles } from './places.js';

let here: Place;
let workspace: string;
let gitDir: string;
let mirror: string;
let baseSha: string;

const files = {
  'a.txt': 'one\ntwo\n',
  'b.txt': 'same\n',
  'src/main.js': 'x\n',
  'run.sh|100755': '#!/bin/sh\n',
  'link|120000': 'a.txt',
  'out|120000': '/etc/hosts',
  '.gitignore': 'node_modules/\n*.log\n',
  '.gitattributes': '* text eol=lf filter=evil\n',
  '.github/workflows/ci.yml': 'on: push\n',
};

// One remote and one mirror for all: nothing here may change them, and a test says so.
beforeAll(async () => {
  here = await place();
  baseSha = await repositoryOf(join(here.path, 'remote.git'), files);
});
afterAll(() => here.remove());

beforeEach(async () => {
  const result = await prepareWorkspace({
    mirrorsDir: join(here.path, 'mirrors'),
    workspacesDir: join(here.path, 'workspaces'),
    runId,
    attempt: 1,
    repositoryUrl: join(here.path, 'remote.git'),
    sha: baseSha,
    ref: null,
  });
  if (result.kind !== 'ready') throw new Error(JSON.stringify(result));
  workspace = result.workspace.folders.workspace;
  gitDir = result.workspace.folders.resultGitDir;
  mirror = result.workspace.mirror;
});

const collect = (changes: Partial<CollectInput> = {}): Promise<CollectResult> =>
  collectChanges({ workspace, mirror, baseSha, gitDir, ...changes });
const at = (name: string): string => join(workspace, name);

async function changed(options: Partial<CollectInput> = {}) {
  const result = await collect(options);
  if (result.kind !== 'changes') throw new Error(JSON.stringify(result));
  return result;
}
async function refusal(options: Partial<CollectInput> = {}): Promise<string> {
  const result = await collect(options);
  return result.kind === 'refused' ? `${result.reasonCode}: ${result.detail}` : result.kind;
}
const show = async (tree: string, path: string): Promise<string> =>
  (await gitOutput({ gitDir, args: ['show', `${tree}:${path}`] })).toString();

describe('collectChanges', () => {
  it('finds no change where there is none', async () => {
    expect(await collect()).toEqual({ kind: 'no-change' });
    await rm(at('a.txt'));
    await writeFile(at('a.txt'), files['a.txt']);
    expect(await collect()).toEqual({ kind: 'no-change' });
  });

  it('takes added, modified, deleted and re-moded files into a tree, with the lines and the patch', async () => {
    await writeFiles(workspace, { 'a.txt': 'one\nTWO\n', 'new/file.txt': 'new\n' });
    await unlink(at('b.txt'));
    await chmod(at('src/main.js'), 0o755);
    const result = await changed();
    expect(result.files).toEqual([
      { path: 'a.txt', status: 'modified' },
      { path: 'b.txt', status: 'deleted' },
      { path: 'new/file.txt', status: 'added' },
      { path: 'src/main.js', status: 'modified' },
    ]);
    expect(result.diffLines).toBe(4);
    expect(result.patch.toString()).toContain('+TWO');
    expect(await show(result.tree, 'new/file.txt')).toBe('new\n');
    const listing = await gitOutput({
      gitDir,
      args: ['ls-tree', result.tree, 'src/main.js', 'run.sh', 'link', 'out'],
    });
    expect(listing.toString().match(/^\d+/gm)).toEqual(['120000', '120000', '100755', '100755']);
  });

  it('the patch applied to the base gives the tree', async () => {
    await writeFiles(workspace, { 'a.txt': 'x\n', 'bin.dat': '\0\x01\x02' });
    const result = await changed();
    const env = { GIT_INDEX_FILE: join(here.path, 'index') };
    await gitOutput({ gitDir, env, args: ['read-tree', baseSha] });
    await gitOutput({ gitDir, env, args: ['apply', '--cached'], stdin: result.patch });
    expect((await gitOutput({ gitDir, env, args: ['write-tree'] })).toString().trim()).toBe(result.tree);
  });

  it('a folder may take the place of a file, and a file that of a folder', async () => {
    await unlink(at('b.txt'));
    await rm(at('src'), { recursive: true });
    await writeFiles(workspace, { 'b.txt/inside': 'x\n', src: 'now a file\n' });
    const result = await changed();
    expect(await show(result.tree, 'b.txt/inside')).toBe('x\n');
    expect(await show(result.tree, 'src')).toBe('now a file\n');
  });

  it('leaves out what .gitignore names, but never what the base has', async () => {
    await writeFiles(workspace, {
      'node_modules/dep/index.js': 'x',
      'debug.log': 'x',
      'packages/a/.gitignore': 'dist\n!keep.log\n',
      'packages/a/dist/out.js': 'x',
      'packages/a/keep.log': 'kept\n',
      ':(glob)odd.txt': 'odd\n',
    });
    const result = await changed();
    expect(result.files.map(({ path }) => path)).toEqual([
      ':(glob)odd.txt',
      'packages/a/.gitignore',
      'packages/a/keep.log',
    ]);
    await writeFile(at('.gitignore'), '*\n');
    await writeFile(at('a.txt'), 'still seen\n');
    expect((await changed()).files).toContainEqual({ path: 'a.txt', status: 'modified' });
  });

  it('bytes go in as they are, whatever attributes the repository has', async () => {
    await writeFile(at('a.txt'), 'dos\r\n');
    const result = await changed();
    expect(await show(result.tree, 'a.txt')).toBe('dos\r\n');
  });

  it('takes names that hurt: newline, unicode, leading dash, spaces, quotes', async () => {
    const names = [
      '-rf',
      'new\nline.txt',
      'ünï \u{1f600}.txt',
      ' space ',
      'quo"te\'s',
      '--',
      'tab\t',
      'back\\slash',
    ];
    for (const name of names) await writeFile(at(name), `${name}\n`);
    const result = await changed();
    expect(new Set(result.files.map(({ path }) => path))).toEqual(new Set(names));
    const listing = await gitOutput({ gitDir, args: ['ls-tree', '-z', '--name-only', result.tree] });
    for (const name of names) expect(listing.toString().split('\0')).toContain(name);
  });

  it('is the same for the same files, and a second collection replaces the first', async () => {
    await writeFile(at('a.txt'), 'x\n');
    const first = await changed();
    expect((await changed()).tree).toBe(first.tree);
    expect(existsSync(`${gitDir}.staging`)).toBe(false);
  });

  it('ten thousand files are refused, not read and not committed', async () => {
    await mkdir(at('many'));
    for (let index = 0; index < 10_000; index += 1) writeFileSync(at(`many/${index}`), '');
    expect(await refusal()).toBe('OUTPUT_LIMIT: more than 500 files changed');
    expect(await refusal({ limits: { entries: 5_000 } })).toMatch(
      /OUTPUT_LIMIT: the workspace holds more than/,
    );
  });
});

describe('a hostile workspace', () => {
  it('a link out of the workspace is refused, however it is written', async () => {
    for (const target of ['/etc/passwd', '../../../../etc/passwd', 'src/../../x', '.git/config', '..']) {
      await symlink(target, at('leak'));
      expect(await refusal()).toMatch(/^JUDGE_REJECTED: "leak" is a link that leads out/);
      await unlink(at('leak'));
    }
    await unlink(at('link'));
    await symlink('/etc/passwd', at('link'));
    expect(await refusal()).toMatch(/"link" is a link that leads out/);
  });

  it('a link inside is taken as a link; one to a folder is not followed', async () => {
    await symlink('../a.txt', at('src/inner'));
    await symlink('.', at('loop'));
    const result = await changed();
    expect(result.files.map(({ path }) => path)).toEqual(['loop', 'src/inner']);
    expect(await show(result.tree, 'loop')).toBe('.');
  });

  it('a folder replaced by a link does not make its target part of the result', async () => {
    const outside = join(here.path, 'outside');
    await writeFiles(outside, { 'main.js': 'secret\n' });
    await rename(at('src'), join(here.path, 'old-src'));
    await symlink(outside, at('src'));
    expect(await refusal()).toMatch(/"src" is a link that leads out/);
  });

  it('a .git of the agent is neither read nor run: no filter, hook, monitor or alias of it counts', async () => {
    const marker = join(here.path, 'executed');
    const evil = `touch ${marker}; cat`;
    await writeFiles(workspace, {
      '.git/HEAD': 'ref: refs/heads/main\n',
      '.git/config': `[core]\n\tfsmonitor = ${evil}\n\thooksPath = .git/hooks\n[filter "evil"]\n\tclean = ${evil}\n\tsmudge = ${evil}\n[diff]\n\texternal = ${evil}\n`,
      '.git/hooks/pre-commit': `#!/bin/sh\n${evil}\n`,
      'sub/.git/config': 'x\n',
      '.gitattributes': '* filter=evil diff=evil\n',
      'a.txt': 'changed\n',
    });
    await mkdir(at('.git/objects'), { recursive: true });
    await mkdir(at('.git/refs'), { recursive: true });
    const result = await changed();
    expect(result.skipped).toEqual(['.git', 'sub/.git']);
    expect(result.files.map(({ path }) => path)).toEqual(['.gitattributes', 'a.txt']);
    expect(existsSync(marker)).toBe(false);
  });

  it('a name that some system takes for .git is refused', async () => {
    for (const name of ['.GIT', '.git ', '.git.', 'GIT~1', '.g\u200cit', '.git:stream']) {
      await writeFiles(workspace, { [`${name}/config`]: 'x' });
      expect(await refusal()).toMatch(/could pass for \.git/);
      await rm(at(name), { recursive: true });
    }
  });

  it('pipes, sockets and devices are refused and never opened', async () => {
    const run = promisify(execFile);
    await run('mkfifo', [at('pipe')]);
    expect(await refusal()).toBe('JUDGE_REJECTED: "pipe" is a pipe');
    await unlink(at('pipe'));
    // A pipe in the place of a known file would block whoever opened it.
    await unlink(at('a.txt'));
    await run('mkfifo', [at('a.txt')]);
    expect(await refusal()).toBe('JUDGE_REJECTED: "a.txt" is a pipe');
    await unlink(at('a.txt'));
    const server = createServer().listen(at('socket'));
    await new Promise((resolve) => server.once('listening', resolve));
    expect(await refusal()).toBe('JUDGE_REJECTED: "socket" is a socket');
    await new Promise((resolve) => server.close(resolve));
  });

  it.skipIf(process.getuid?.() !== 0)('a device node is refused', async () => {
    await promisify(execFile)('mknod', [at('null'), 'c', '1', '3']);
    expect(await refusal()).toBe('JUDGE_REJECTED: "null" is a device');
  });

  it('a huge file is refused by its size, unread', async () => {
    await writeFile(at('huge'), '');
    await truncate(at('huge'), 1024 ** 4);
    expect(await refusal()).toMatch(/^OUTPUT_LIMIT: "huge" has 1099511627776 bytes/);
    expect(await refusal({ limits: { fileBytes: 2 * 1024 ** 4 } })).toMatch(
      /^OUTPUT_LIMIT: the changed files/,
    );
  });

  it('too many lines are refused', async () => {
    await writeFile(at('long.txt'), 'x\n'.repeat(101));
    expect(await refusal({ limits: { diffLines: 100 } })).toBe(
      'OUTPUT_LIMIT: 101 lines changed, at most 100 may',
    );
  });

  it('a name that is not UTF-8 is refused', async () => {
    await writeFile(Buffer.concat([Buffer.from(`${workspace}/`), Buffer.from([0x66, 0xff, 0xfe])]), 'x');
    expect(await refusal()).toMatch(/JUDGE_REJECTED: a name in the top folder is not UTF-8: 66fffe/);
  });

  it('a hard link to a file elsewhere is refused; two names of one file in the result are two files', async () => {
    const elsewhere = join(here.path, 'elsewhere');
    await writeFile(elsewhere, 'of others\n');
    await link(elsewhere, at('mine.txt'));
    expect(await refusal()).toBe(
      'JUDGE_REJECTED: "mine.txt" is another name of a file that is not in the result',
    );
    await unlink(at('mine.txt'));
    await link(at('b.txt'), at('b2.txt'));
    expect((await changed()).files).toEqual([{ path: 'b2.txt', status: 'added' }]);
    // A file that does not change may have names wherever it likes: package managers link what they install.
    await unlink(at('b2.txt'));
    await mkdir(at('node_modules'));
    await link(at('b.txt'), at('node_modules/b.txt'));
    expect(await collect()).toEqual({ kind: 'no-change' });
  });

  it('two names that some system takes for one are refused, in a folder’s name too', async () => {
    for (const [path, other] of [
      ['A.TXT', 'a.txt'],
      ['SRC/other.js', 'src'],
      ['src/Main.js.', 'src/main.js'],
      ['b\u200c.txt', 'b.txt'],
      ['\u017frc/other.js', 'src'],
    ] as const) {
      await writeFiles(workspace, { [path]: 'x\n' });
      expect(await refusal()).toBe(
        `JUDGE_REJECTED: ${JSON.stringify(path)} would be the same file as ${JSON.stringify(other)} where case or spelling do not count`,
      );
      await rm(at(path.split('/')[0] === 'src' ? path : (path.split('/')[0] ?? '')), { recursive: true });
    }
    // Renamed by case alone: the other is gone.
    await rename(at('a.txt'), at('A.txt'));
    expect((await changed()).files.map(({ path }) => path)).toEqual(['A.txt', 'a.txt']);
  });

  it('a tree deeper than a path can say is refused, and can be taken away', async () => {
    const name = 'd'.repeat(200);
    const dig = `for (1 .. 30) { mkdir "${name}"; chdir "${name}" or die } open F, ">file"`;
    await promisify(execFile)('perl', ['-e', dig], { cwd: workspace });
    expect(await refusal()).toMatch(/^JUDGE_REJECTED: .* cannot be read: ENAMETOOLONG$/);
    await removeTree(workspace);
    expect(existsSync(workspace)).toBe(false);
  });

  it('borrowed objects, a work tree elsewhere and a submodule of the agent’s own count for nothing', async () => {
    await writeFiles(workspace, {
      'sub/.git': `gitdir: ${mirror}\n`,
      '.git/objects/info/alternates': `${mirror}/objects\n`,
      '.git/config': `[core]\n\tworktree = ${here.path}\n`,
      'a.txt': 'changed\n',
    });
    const result = await changed();
    expect(result.files.map(({ path }) => path)).toEqual(['a.txt']);
    await writeFiles(workspace, {
      '.gitmodules': '[submodule "x"]\n\tpath = x\n\turl = https://evil.example\n',
    });
    expect(await refusal()).toBe('PROTECTED_PATH: ".gitmodules" is protected');
  });

  it('a registered secret is never part of a result: not in a text, an encoding, a name or a link', async () => {
    const secret = 'tok_51f0c2a9-of-the-forge';
    const forget = registerSecret(secret);
    try {
      const utf16 = Buffer.from(secret, 'utf16le');
      for (const content of [`x${secret}y\n`, Buffer.from(`u:${secret}`).toString('base64'), utf16]) {
        await writeFile(at('leak.txt'), content);
        expect(await refusal()).toBe('JUDGE_REJECTED: "leak.txt" holds a secret of this installation');
      }
      await unlink(at('leak.txt'));
      await symlink(secret, at('leak'));
      expect(await refusal()).toBe('JUDGE_REJECTED: "leak" holds a secret of this installation');
      await unlink(at('leak'));
      await writeFile(at(secret), 'x');
      expect(await refusal()).toBe('JUDGE_REJECTED: "[redacted]" holds a secret of this installation');
      await unlink(at(secret));
    } finally {
      forget();
    }
    // What the base holds already is no news.
    const held = registerSecret('one\ntwo');
    await writeFile(at('a.txt'), 'one\ntwo\nthree\n');
    expect((await changed()).files).toHaveLength(1);
    held();
  });

  it('protected paths are refused: CI, agent configuration, ours, and what the route adds', async () => {
    const cases: [string, Partial<CollectInput>][] = [
      ['.github/workflows/new.yml', {}],
      ['.GitHub/workflows/ci.yml', {}],
      ['CLAUDE.md', {}],
      ['packages/a/AGENTS.md', {}],
      ['.claude/settings.json', {}],
      ['.headgate.yaml', {}],
      ['.circleci/config.yml', {}],
      ['ci/Jenkinsfile', {}],
      ['.vscode/tasks.json', {}],
      ['AGENT\u017f.md', {}],
      ['.github./workflows/new.yml', {}],
      ['.gi\u200ctlab-ci.yml', {}],
      ['secrets/key', { protectedPaths: ['secrets/'] }],
      ['package-lock.json', { protectedPaths: ['**/package-lock.json'] }],
    ];
    for (const [path, options] of cases) {
      await writeFiles(workspace, { [path]: 'x\n' });
      expect(await refusal(options)).toBe(`PROTECTED_PATH: ${JSON.stringify(path)} is protected`);
      await rm(at(path));
    }
    await unlink(at('.github/workflows/ci.yml'));
    expect(await refusal()).toMatch(/^PROTECTED_PATH/);
  });

  it('what the route does not allow is out of scope', async () => {
    await writeFile(at('src/main.js'), 'y\n');
    expect((await changed({ paths: ['src/**'] })).files).toHaveLength(1);
    expect((await changed({ paths: ['src'] })).files).toHaveLength(1);
    await writeFile(at('a.txt'), 'y\n');
    expect(await refusal({ paths: ['src/**'] })).toMatch(/^OUT_OF_SCOPE: "a.txt" is outside/);
  });

  it('a result never changes the mirror', async () => {
    const before = await gitOutput({ gitDir: mirror, args: ['count-objects', '-v'] });
    await writeFile(at('a.txt'), 'y\n');
    await changed();
    expect(await gitOutput({ gitDir: mirror, args: ['count-objects', '-v'] })).toEqual(before);
    expect(await readFile(join(gitDir, 'objects/info/alternates'), 'utf8')).toBe(
      `${join(mirror, 'objects')}\n`,
    );
  });
});
