/** One file of a commit, without a working tree. */
import { describeGit, type GitOptions, runGit } from './run.js';
import { isSha } from './sha.js';

export type FileAtResult =
  | { readonly kind: 'file'; readonly blobSha: string; readonly bytes: Buffer }
  | { readonly kind: 'absent' }
  /** It is there, and is no plain file of at most so many bytes. */
  | { readonly kind: 'odd'; readonly detail: string }
  | { readonly kind: 'unreadable'; readonly detail: string };

export interface FileAtInput extends Pick<GitOptions, 'signal' | 'timeoutMs'> {
  readonly gitDir: string;
  readonly sha: string;
  /** From the root of the tree, with `/`. */
  readonly path: string;
  readonly maxBytes: number;
}

const PLAIN_FILES = ['100644', '100755'];

export async function fileAt(input: FileAtInput): Promise<FileAtResult> {
  const { gitDir, sha, path, maxBytes, ...bounds } = input;
  if (!isSha(sha)) throw new TypeError(`not an object name: ${JSON.stringify(sha)}`);
  const listed = await runGit({
    ...bounds,
    gitDir,
    args: ['--literal-pathspecs', 'ls-tree', '-l', '-z', sha, '--', path],
  });
  if (listed.kind !== 'exited' || listed.code !== 0) {
    return { kind: 'unreadable', detail: describeGit(listed) };
  }
  // `<mode> <type> <sha> <size>\t<path>\0`
  const [facts = ''] = listed.stdout.toString('utf8').split('\t');
  const [mode = '', type = '', blobSha = '', size = ''] = facts.split(/ +/);
  if (mode === '') return { kind: 'absent' };
  if (type !== 'blob' || !PLAIN_FILES.includes(mode)) {
    return { kind: 'odd', detail: `${path} is not a plain file.` };
  }
  if (Number(size) > maxBytes) {
    return { kind: 'odd', detail: `${path} has ${size} bytes, more than ${maxBytes}.` };
  }
  const read = await runGit({ ...bounds, gitDir, args: ['cat-file', 'blob', blobSha] });
  return read.kind === 'exited' && read.code === 0
    ? { kind: 'file', blobSha, bytes: read.stdout }
    : { kind: 'unreadable', detail: describeGit(read) };
}
