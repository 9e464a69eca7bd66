/** New work for the example: a commit that brings the defect back, on top of a branch of the example's repository. */
import { gitOutput } from '@headgate/git';
import { EXAMPLE_BRANCH, EXAMPLE_DEFECT } from './example-repository.js';

export interface ExampleChange {
  readonly branch: string;
  readonly headSha: string;
  /** The commit it stands on. */
  readonly baseSha: string;
}

/** Commits to `branch`, which is made from `main` if it is not there. */
export async function breakExample(options: {
  readonly path: string;
  readonly branch?: string;
  readonly at: Date;
}): Promise<ExampleChange> {
  const { path, branch = EXAMPLE_BRANCH, at } = options;
  const own = await shaOf(path, branch);
  const baseSha = own ?? (await shaOf(path, EXAMPLE_BRANCH));
  if (baseSha === null) throw new Error(`${path} has no branch ${EXAMPLE_BRANCH}`);
  const who = `Example <example@users.noreply.invalid> ${Math.floor(at.getTime() / 1000)} +0000`;
  const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`;
  const stream = [
    `commit refs/heads/${branch}\n`,
    `author ${who}\ncommitter ${who}\n`,
    data('Change the price list\n'),
    `from ${baseSha}\n`,
    `M 100644 inline ${EXAMPLE_DEFECT.file}\n${data(EXAMPLE_DEFECT.text)}`,
    // Two changes within a second are still two commits.
    `M 100644 inline CHANGED.md\n${data(`Changed at ${at.toISOString()}, after ${baseSha}.\n`)}`,
    'done\n',
  ].join('');
  await gitOutput({ gitDir: path, args: ['fast-import', '--quiet', '--done'], stdin: stream });
  const headSha = await shaOf(path, branch);
  if (headSha === null) throw new Error(`git made no branch ${branch} in ${path}`);
  return { branch, headSha, baseSha };
}

/** Where a branch of a repository on this machine points; null when there is no such branch. */
export async function shaOf(path: string, branch: string): Promise<string | null> {
  const found = await gitOutput({
    gitDir: path,
    args: ['for-each-ref', '--format=%(objectname) %(refname)', `refs/heads/${branch}`],
  });
  // A pattern also matches what lies below it: `release` finds `release/1`.
  const line = found
    .toString('utf8')
    .split('\n')
    .find((it) => it.endsWith(` refs/heads/${branch}`));
  return line?.split(' ')[0] ?? null;
}
