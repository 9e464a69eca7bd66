/**
 * Turns what an agent left into a git tree (security 3, 5): plain files are read, compared with the base by
 * their hash, judged, and only then written as objects into a clean git directory of our own. No git command
 * ever has the workspace as its directory; no filter, hook or attribute of it counts.
 *
 * One attempt's worker calls this once; a crash leaves a half-made git directory that the next call replaces.
 */
import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { mkdir, open, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { gitOutput, objectFormatOf } from '@headgate/git';
import { redactText } from '@headgate/telemetry';
import { makeResultRepository } from '../result-repository.js';
import { removeTree } from '../workspace/remove.js';
import { type BaseEntry, readBaseTree } from './base-tree.js';
import type { Change, ChangedFile } from './change.js';
import { IgnoreRules } from './ignore-rules.js';
import { COLLECT_LIMITS, type CollectLimits } from './limits.js';
import { foldedPath, isLinkInside } from './names.js';
import { judgePaths, type PathRules } from './path-rules.js';
import { quoted, type Refusal, refused } from './refusal.js';
import { type FoundEntry, linkRefusal, scanWorkspace } from './scan.js';
import { bringsSecret } from './secrets.js';
import { writeTree } from './write-tree.js';

export interface CollectInput extends Partial<PathRules> {
  readonly workspace: string;
  readonly mirror: string;
  readonly baseSha: string;
  /** Made anew; the worker's alone (`AttemptFolders.resultGitDir`). */
  readonly gitDir: string;
  readonly limits?: Partial<CollectLimits>;
  readonly signal?: AbortSignal;
}

export type CollectResult =
  | {
      readonly kind: 'changes';
      /** The tree object, in `gitDir`. */
      readonly tree: string;
      /** In the order of their paths. */
      readonly files: readonly ChangedFile[];
      /** Added and removed lines; a binary file counts none. */
      readonly diffLines: number;
      readonly patch: Buffer;
      /** Folders called .git that the agent made and nobody read. */
      readonly skipped: readonly string[];
    }
  | { readonly kind: 'no-change' }
  | Refusal;

export async function collectChanges(input: CollectInput): Promise<CollectResult> {
  const limits = { ...COLLECT_LIMITS, ...input.limits };
  const bounds = input.signal === undefined ? {} : { signal: input.signal };
  const staging = `${input.gitDir}.staging`;
  await removeTree(input.gitDir);
  await removeTree(staging);
  await makeResultRepository(input.gitDir, input.mirror, input.baseSha);
  await mkdir(join(staging, 'blobs'), { recursive: true, mode: 0o700 });
  await mkdir(join(staging, 'ignore'), { recursive: true });
  try {
    const base = await readBaseTree(input.mirror, input.baseSha, input.signal);
    const ignore = new IgnoreRules(join(staging, 'ignore'), input.gitDir);
    const scan = await scanWorkspace({ workspace: input.workspace, base, ignore, limits, ...bounds });
    if (scan.kind === 'refused') return scan;
    const found = await compare(input, base, scan.entries, limits, staging);
    if (found.kind === 'refused') return found;
    const { changes } = found;
    if (changes.length === 0) return { kind: 'no-change' };
    const rules = { paths: input.paths ?? [], protectedPaths: input.protectedPaths ?? [] };
    const broken = judgePaths(
      changes.map((change) => change.path),
      rules,
    );
    if (broken !== null) return broken;
    const twin = twinOf(changes, base);
    if (twin !== null) return twin;

    const written = await writeTree({
      gitDir: input.gitDir,
      baseSha: input.baseSha,
      changes,
      staging,
      ...bounds,
    });
    if (written.kind === 'refused') return written;
    const { tree } = written;
    const diff = { gitDir: input.gitDir, ...bounds };
    const diffLines = countLines(
      await gitOutput({ ...diff, args: [...DIFF, '--numstat', '-z', input.baseSha, tree] }),
    );
    if (diffLines > limits.diffLines) {
      return refused('OUTPUT_LIMIT', `${diffLines} lines changed, at most ${limits.diffLines} may`);
    }
    const patch = await gitOutput({
      ...diff,
      args: [...DIFF, '--patch', '--binary', '--full-index', input.baseSha, tree],
      maxOutputBytes: limits.patchBytes,
    });
    const files = changes.map(({ path, status }) => ({ path, status }));
    return { kind: 'changes', tree, files, diffLines, patch, skipped: scan.skipped };
  } catch (error) {
    const refusal = unreadable(error, input.workspace);
    if (refusal === null) throw error;
    return refusal;
  } finally {
    await removeTree(staging);
  }
}

/** An agent can leave what we may not read, or names too long to open: its doing, not a fault of ours. */
function unreadable(error: unknown, workspace: string): Refusal | null {
  const { code, path } = error as NodeJS.ErrnoException;
  const isTheirs = code !== undefined && path?.startsWith(workspace) === true;
  if (
    !isTheirs ||
    !['EACCES', 'EPERM', 'ELOOP', 'ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ENXIO'].includes(code)
  ) {
    return null;
  }
  return refused('JUDGE_REJECTED', `${quoted(relative(workspace, path))} cannot be read: ${code}`);
}

/** Nothing that a repository or a user could configure. */
const DIFF = ['diff-tree', '-r', '--no-renames', '--no-ext-diff', '--no-textconv', '--no-color'];

/** Files that are open at the same time while they are compared. */
const FILES_AT_ONCE = 16;

async function compare(
  input: CollectInput,
  base: ReadonlyMap<string, BaseEntry>,
  entries: ReadonlyMap<string, FoundEntry>,
  limits: CollectLimits,
  staging: string,
): Promise<{ readonly kind: 'compared'; readonly changes: readonly Change[] } | Refusal> {
  const algorithm = objectFormatOf(input.baseSha);
  const changes: Change[] = [];
  const tooMany = refused('OUTPUT_LIMIT', `more than ${limits.changedFiles} files changed`);
  let totalBytes = 0;
  for (const [path, entry] of await differing(input, base, entries)) {
    // First of all: ten thousand new files are not read to be refused.
    if (changes.length === limits.changedFiles) return tooMany;
    const size = sizeOf(entry);
    if (size > limits.fileBytes) {
      return refused('OUTPUT_LIMIT', `${quoted(path)} has ${size} bytes, at most ${limits.fileBytes} may be`);
    }
    totalBytes += size;
    if (totalBytes > limits.totalBytes) {
      return refused('OUTPUT_LIMIT', `the changed files have more than ${limits.totalBytes} bytes together`);
    }
    if (entry.kind === 'link' && !isLinkInside(path, entry.target)) return linkRefusal(path, entry.target);
    if (entry.kind === 'file' && namesOutside(entry, entries) > 0) {
      return refused('JUDGE_REJECTED', `${quoted(path)} is another name of a file that is not in the result`);
    }
    const content =
      entry.kind === 'link'
        ? Buffer.from(entry.target)
        : await readPlainFile(join(input.workspace, path), limits.fileBytes);
    if (content === null) return refused('JUDGE_REJECTED', `${quoted(path)} changed while it was read`);
    const oid = hashOf(algorithm, content);
    if (await bringsSecret({ path, content, before: base.get(path) ?? null, mirror: input.mirror })) {
      return refused('JUDGE_REJECTED', `${quoted(redactText(path))} holds a secret of this installation`);
    }
    await writeFile(join(staging, 'blobs', oid), content, { mode: 0o600 });
    changes.push({ path, mode: modeOf(entry), oid, status: base.has(path) ? 'modified' : 'added' });
  }
  for (const [path, before] of base) {
    if (before.mode === '160000' || entries.has(path)) continue;
    if (changes.length === limits.changedFiles) return tooMany;
    changes.push({ path, mode: '0', oid: before.oid, status: 'deleted' });
  }
  changes.sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
  return { kind: 'compared', changes };
}

/** Names that a file has where we do not look: a hard link can make a file of others look like the agent's own. */
function namesOutside(
  entry: Extract<FoundEntry, { kind: 'file' }>,
  entries: ReadonlyMap<string, FoundEntry>,
): number {
  if (entry.inode === null) return 0;
  let inside = 0;
  for (const other of entries.values()) if (other.kind === 'file' && other.inode === entry.inode) inside += 1;
  return entry.names - inside;
}

/** A new path that some file system takes for one that is there, also where only a folder of it is spelled otherwise. */
function twinOf(changes: readonly Change[], base: ReadonlyMap<string, BaseEntry>): Refusal | null {
  const deleted = new Set(changes.filter(({ status }) => status === 'deleted').map(({ path }) => path));
  const spellings = new Map<string, string>();
  for (const path of base.keys()) {
    if (!deleted.has(path)) for (const part of partsOf(path)) spellings.set(foldedPath(part), part);
  }
  for (const { path, status } of changes) {
    if (status !== 'added') continue;
    for (const part of partsOf(path)) {
      const folded = foldedPath(part);
      const known = spellings.get(folded) ?? part;
      if (known !== part) {
        const detail = `${quoted(path)} would be the same file as ${quoted(known)} where case or spelling do not count`;
        return refused('JUDGE_REJECTED', detail);
      }
      spellings.set(folded, part);
    }
  }
  return null;
}

/** `a/b/c` gives `a`, `a/b`, `a/b/c`. */
function partsOf(path: string): readonly string[] {
  const parts: string[] = [];
  for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1))
    parts.push(path.slice(0, end));
  return [...parts, path];
}

/** What is not, byte for byte and mode for mode, as the base has it. Only files of the same size are read. */
async function differing(
  input: CollectInput,
  base: ReadonlyMap<string, BaseEntry>,
  entries: ReadonlyMap<string, FoundEntry>,
): Promise<readonly (readonly [string, FoundEntry])[]> {
  const algorithm = objectFormatOf(input.baseSha);
  const isSame = async ([path, entry]: readonly [string, FoundEntry]): Promise<boolean> => {
    const before = base.get(path);
    if (before === undefined || before.mode !== modeOf(entry) || before.size !== sizeOf(entry)) return false;
    const oid =
      entry.kind === 'link'
        ? hashOf(algorithm, Buffer.from(entry.target))
        : await hashFile(algorithm, join(input.workspace, path), entry.size);
    return oid === before.oid;
  };
  const all = [...entries];
  const found: (readonly [string, FoundEntry])[] = [];
  for (let start = 0; start < all.length; start += FILES_AT_ONCE) {
    const some = all.slice(start, start + FILES_AT_ONCE);
    const same = await Promise.all(some.map(isSame));
    found.push(...some.filter((_, index) => same[index] !== true));
  }
  return found;
}

const modeOf = (entry: FoundEntry): string =>
  entry.kind === 'link' ? '120000' : entry.isExecutable ? '100755' : '100644';

const sizeOf = (entry: FoundEntry): number =>
  entry.kind === 'link' ? Buffer.byteLength(entry.target) : entry.size;

function hashOf(algorithm: string, content: Buffer): string {
  return createHash(algorithm).update(`blob ${content.length}\0`).update(content).digest('hex');
}

/** Above it a file is not held in memory to be compared. */
const STREAMED_FROM_BYTES = 1024 * 1024;

async function hashFile(algorithm: string, path: string, size: number): Promise<string> {
  const hash = createHash(algorithm).update(`blob ${size}\0`);
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags);
  if (size > STREAMED_FROM_BYTES) {
    for await (const chunk of createReadStream('', { fd: file })) hash.update(chunk as Buffer);
  } else {
    try {
      hash.update(await file.readFile());
    } finally {
      await file.close();
    }
  }
  return hash.digest('hex');
}

/** null when it is not, or no longer, a plain file of at most that size. */
async function readPlainFile(path: string, maxBytes: number): Promise<Buffer | null> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags);
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size > maxBytes) return null;
    const content = await file.readFile();
    return content.length > maxBytes ? null : content;
  } finally {
    await file.close();
  }
}

/** `added\tremoved\tpath\0` per file; `-` for a binary one. */
function countLines(numstat: Buffer): number {
  let lines = 0;
  for (const record of numstat.toString('utf8').split('\0')) {
    const [added = '', removed = ''] = record.split('\t');
    lines += (Number.parseInt(added, 10) || 0) + (Number.parseInt(removed, 10) || 0);
  }
  return lines;
}
