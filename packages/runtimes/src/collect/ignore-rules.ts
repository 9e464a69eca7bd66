/**
 * Which untracked files .gitignore takes out of a result (build output, dependencies).
 *
 * git decides, but never in the agent's folder: the .gitignore files alone are copied, as plain text, into a
 * folder of our own that has the same shape, and git is asked there.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GitError, runGit } from '@headgate/git';

export class IgnoreRules {
  readonly #scaffold: string;
  readonly #gitDir: string;

  constructor(scaffold: string, gitDir: string) {
    this.#scaffold = scaffold;
    this.#gitDir = gitDir;
  }

  /** Takes over the rules of one folder, before its entries are asked about. */
  async addFile(folder: string, content: Buffer): Promise<void> {
    await mkdir(join(this.#scaffold, folder), { recursive: true });
    await writeFile(join(this.#scaffold, folder, '.gitignore'), content);
  }

  /** The ignored ones among untracked entries. Folders must be told apart: `build/` does not match a file. */
  async ignored(
    entries: readonly { readonly path: string; readonly isFolder: boolean }[],
    signal?: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    if (entries.length === 0) return new Set();
    for (const entry of entries) {
      if (entry.isFolder) await mkdir(join(this.#scaffold, entry.path), { recursive: true });
    }
    const args = [`--work-tree=${this.#scaffold}`, 'check-ignore', '--no-index', '-z', '--stdin'];
    const result = await runGit({
      gitDir: this.#gitDir,
      cwd: this.#scaffold,
      args,
      // With `./` in front no name is taken for pathspec magic.
      stdin: entries.map((entry) => `./${entry.path}\0`).join(''),
      ...(signal === undefined ? {} : { signal }),
    });
    // 1 means that nothing is ignored.
    if (result.kind !== 'exited' || result.code > 1) throw new GitError(['check-ignore'], result);
    return new Set(
      result.stdout
        .toString('utf8')
        .split('\0')
        .filter((path) => path !== '')
        .map((path) => path.slice(2)),
    );
  }
}
