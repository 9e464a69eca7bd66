/**
 * A bare repository as a forge keeps it, with the forge's own record of what was pushed.
 *
 * The record is written by git itself, by the `reference-transaction` hook in its state `committed`: one line per
 * ref that really changed, also when the pusher died before it heard so. The repository's own configuration names
 * the hook's folder, so that a pusher who has hooks switched off for himself does not switch off the record. Commits
 * carry fixed names and dates: the same calls give the same ids.
 */
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { git, NO_COMMIT } from './git-command.js';

export interface BareRepositoryOptions {
  /** Where to make it; a fresh temporary folder by default. */
  readonly path?: string;
  readonly defaultBranch?: string;
  /** Commits to begin with on the default branch; 3 by default. */
  readonly commits?: number;
}

export interface CommitOptions {
  /** The default branch if not named. Made if it is new. */
  readonly branch?: string;
  /** Branch or commit that a new branch begins at; the default branch if not named. */
  readonly from?: string;
  /** Path to text; null removes the file. */
  readonly files: Readonly<Record<string, string | null>>;
  readonly message?: string;
  /** When it was made; a minute after the one before by default. */
  readonly at?: Date;
}

export interface CommitRecord {
  readonly sha: string;
  readonly parents: readonly string[];
  /** Id of the content: equal trees are equal files. */
  readonly tree: string;
  readonly authorName: string;
  readonly message: string;
}

/** One ref changed by a push. `before` or `after` is null when it was made or deleted. */
export interface PushRecord {
  readonly ref: string;
  readonly before: string | null;
  readonly after: string | null;
}

const FIRST_COMMIT_SECONDS = Date.UTC(2026, 0, 1) / 1000;
const COMMIT_INTERVAL_SECONDS = 60;
const LOG = 'headgate-pushes.log';

const HOOK = `#!/bin/sh
[ "$1" = committed ] || exit 0
while read -r before after ref; do
  echo "$before $after $ref" >> "\${GIT_DIR:-.}/${LOG}"
done
`;

export class BareRepository {
  readonly path: string;
  readonly defaultBranch: string;
  #commits = 0;

  private constructor(path: string, defaultBranch: string) {
    this.path = path;
    this.defaultBranch = defaultBranch;
  }

  static async create(options: BareRepositoryOptions = {}): Promise<BareRepository> {
    const path = options.path ?? join(await mkdtemp(join(tmpdir(), 'headgate-forge-')), 'repository.git');
    const repository = new BareRepository(path, options.defaultBranch ?? 'main');
    await mkdir(path, { recursive: true });
    await git(path, ['init', '--quiet', '--bare', `--initial-branch=${repository.defaultBranch}`]);
    const hooks = join(path, 'hooks');
    await mkdir(hooks, { recursive: true });
    await writeFile(join(hooks, 'reference-transaction'), HOOK);
    await chmod(join(hooks, 'reference-transaction'), 0o755);
    await git(path, ['config', 'core.hooksPath', hooks]);
    await writeFile(join(path, LOG), '');
    await repository.#begin(options.commits ?? 3);
    return repository;
  }

  get url(): string {
    return pathToFileURL(this.path).href;
  }

  async #begin(commits: number): Promise<void> {
    const stream: string[] = [];
    for (let number = 1; number <= commits; number += 1) {
      const files = { 'README.md': `# Example\n\nRevision ${number}.\n` };
      stream.push(this.#commitCommand({ files, branch: this.defaultBranch, parent: null }));
    }
    if (commits > 0) await git(this.path, ['fast-import', '--quiet'], stream.join('\n'));
  }

  /** Adds a commit to a branch, as a colleague would; gives its id. */
  async commit(options: CommitOptions): Promise<string> {
    const refs = await this.refs();
    const branch = options.branch ?? this.defaultBranch;
    const from = options.from ?? this.defaultBranch;
    const parent = refs[`refs/heads/${branch}`] ?? refs[`refs/heads/${from}`] ?? options.from ?? null;
    const command = this.#commitCommand({ ...options, branch, parent });
    const output = await git(this.path, ['fast-import', '--quiet'], `${command}\nget-mark :1\n`);
    return output.trim();
  }

  /** For git fast-import. Without a parent the commit follows the one before it in the stream. */
  #commitCommand(
    commit: CommitOptions & { readonly branch: string; readonly parent: string | null },
  ): string {
    this.#commits += 1;
    const nextSeconds = FIRST_COMMIT_SECONDS + this.#commits * COMMIT_INTERVAL_SECONDS;
    const seconds = commit.at === undefined ? nextSeconds : Math.floor(commit.at.getTime() / 1000);
    const files = Object.entries(commit.files).flatMap(([name, text]) =>
      text === null ? [`D ${name}`] : [`M 100644 inline ${name}`, data(text)],
    );
    return [
      `commit refs/heads/${commit.branch}`,
      'mark :1',
      `committer A Colleague <colleague@example.com> ${seconds} +0000`,
      data(commit.message ?? `Change ${Object.keys(commit.files).join(', ')}`),
      ...(commit.parent === null ? [] : [`from ${commit.parent}`]),
      ...files,
      '',
    ].join('\n');
  }

  /** The commit a branch stands at; null if there is no such branch. */
  async head(branch: string = this.defaultBranch): Promise<string | null> {
    return (await this.refs())[`refs/heads/${branch}`] ?? null;
  }

  /** Every ref and its commit. */
  async refs(): Promise<Readonly<Record<string, string>>> {
    const lines = await git(this.path, ['for-each-ref', '--format=%(refname) %(objectname)']);
    return Object.fromEntries(linesOf(lines).map((line) => line.split(' ')));
  }

  /** Moves a branch to any commit, back or aside too: a forced push. */
  async setBranch(branch: string, sha: string): Promise<void> {
    await git(this.path, ['update-ref', `refs/heads/${branch}`, sha]);
  }

  async deleteBranch(branch: string): Promise<void> {
    await git(this.path, ['update-ref', '-d', `refs/heads/${branch}`]);
  }

  /** A branch's commits, newest first. */
  async history(branch: string = this.defaultBranch): Promise<readonly CommitRecord[]> {
    const format = '--format=%H%x1f%P%x1f%T%x1f%an%x1f%B%x1e';
    const text = await git(this.path, ['log', format, `refs/heads/${branch}`]);
    return text
      .split('\x1e')
      .map((record) => record.trim().split('\x1f'))
      .filter((fields) => fields.length === 5)
      .map(([sha = '', parents = '', tree = '', authorName = '', message = '']) => ({
        sha,
        parents: parents.split(' ').filter((it) => it !== ''),
        tree,
        authorName,
        message: message.trim(),
      }));
  }

  /** A file's text on a branch or at a commit. Fails if it is not there. */
  async read(branchOrSha: string, name: string): Promise<string> {
    return git(this.path, ['show', `${branchOrSha}:${name}`]);
  }

  /** What the system under test pushed, in order; set-up by this class is not among it. */
  async pushes(): Promise<readonly PushRecord[]> {
    const text = await readFile(join(this.path, LOG), 'utf8');
    return (
      linesOf(text)
        .map((line) => line.split(' '))
        // HEAD moves along with the branch it names.
        .filter(([before, after, ref]) => before !== after && ref !== 'HEAD')
        .map(([before = '', after = '', ref = '']) => ({
          ref,
          before: before === NO_COMMIT ? null : before,
          after: after === NO_COMMIT ? null : after,
        }))
    );
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

/** A bare repository with a few commits. */
export const bareRepository = (options: BareRepositoryOptions = {}): Promise<BareRepository> =>
  BareRepository.create(options);

const data = (text: string): string => `data ${Buffer.byteLength(text, 'utf8')}\n${text}`;

const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');
