/**
 * Looks through a workspace without trusting anything in it: names are bytes, nothing is followed, only plain
 * files and links are taken, and git is never asked about the place.
 *
 * The agent's processes are gone by now (the sandbox guarantees it), so what is seen stays as it is.
 */
import type { Stats } from 'node:fs';
import { constants } from 'node:fs';
import { lstat, open, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { BaseEntry } from './base-tree.js';
import type { IgnoreRules } from './ignore-rules.js';
import type { CollectLimits } from './limits.js';
import { isLinkInside, isNameOfGit } from './names.js';
import { quoted, type Refusal, refused } from './refusal.js';

export type FoundEntry =
  | {
      readonly kind: 'file';
      readonly isExecutable: boolean;
      readonly size: number;
      /** Which file it is, whatever it is called; null when it has no other name. */
      readonly inode: string | null;
      /** How many names it has on its file system. */
      readonly names: number;
    }
  | { readonly kind: 'link'; readonly target: string };

export type ScanResult =
  | {
      readonly kind: 'scanned';
      readonly entries: ReadonlyMap<string, FoundEntry>;
      /** Folders called .git that an agent made; never read. */
      readonly skipped: readonly string[];
    }
  | Refusal;

export interface ScanInput {
  readonly workspace: string;
  readonly base: ReadonlyMap<string, BaseEntry>;
  readonly ignore: IgnoreRules;
  readonly limits: CollectLimits;
  readonly signal?: AbortSignal;
}

interface Seen {
  readonly path: string;
  readonly stats: Stats;
}

const MAX_IGNORE_FILE_BYTES = 1024 * 1024;
const LOOKS_AT_ONCE = 64;

export async function scanWorkspace(input: ScanInput): Promise<ScanResult> {
  const { base, limits } = input;
  const trackedFolders = foldersOf(base);
  const entries = new Map<string, FoundEntry>();
  const skipped: string[] = [];
  let looked = 0;

  // Level by level, so that git is asked about the ignored ones once per level.
  for (let level: readonly string[] = ['']; level.length > 0; ) {
    const seen: Seen[] = [];
    for (const folder of level) {
      const listed = await listFolder(input.workspace, folder);
      if (listed.kind === 'refused') return listed;
      looked += listed.entries.length;
      if (looked > limits.entries) {
        return refused('OUTPUT_LIMIT', `the workspace holds more than ${limits.entries} files and folders`);
      }
      for (const entry of listed.entries) {
        if (base.get(entry.path)?.mode === '160000') {
          const inside = await submoduleRefusal(input.workspace, entry);
          if (inside !== null) return inside;
        } else if (lastPart(entry.path) === '.git') skipped.push(entry.path);
        else seen.push(entry);
      }
      await takeIgnoreFile(input, folder, listed.entries);
    }
    const untracked = seen.filter(({ path }) => !base.has(path) && !trackedFolders.has(path));
    const ignored = await input.ignore.ignored(
      untracked.map(({ path, stats }) => ({ path, isFolder: stats.isDirectory() })),
      input.signal,
    );
    const next: string[] = [];
    for (const { path, stats } of seen) {
      if (ignored.has(path)) continue;
      if (!base.has(path) && isNameOfGit(lastPart(path))) {
        return refused('JUDGE_REJECTED', `${quoted(path)} could pass for .git`);
      }
      if (stats.isDirectory()) next.push(path);
      else {
        const found = await readEntry(input, path, stats);
        if (found.kind === 'refused') return found;
        entries.set(path, found);
      }
    }
    level = next;
  }
  return { kind: 'scanned', entries, skipped };
}

async function listFolder(
  workspace: string,
  folder: string,
): Promise<{ readonly kind: 'listed'; readonly entries: readonly Seen[] } | Refusal> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const paths: string[] = [];
  for (const bytes of await readdir(join(workspace, folder), { encoding: 'buffer' })) {
    let name: string;
    try {
      name = decoder.decode(bytes);
    } catch {
      const place = folder === '' ? 'the top folder' : quoted(folder);
      return refused('JUDGE_REJECTED', `a name in ${place} is not UTF-8: ${bytes.toString('hex')}`);
    }
    paths.push(folder === '' ? name : `${folder}/${name}`);
  }
  const entries: Seen[] = [];
  for (let start = 0; start < paths.length; start += LOOKS_AT_ONCE) {
    const some = paths.slice(start, start + LOOKS_AT_ONCE);
    entries.push(
      ...(await Promise.all(some.map(async (path) => ({ path, stats: await lstat(join(workspace, path)) })))),
    );
  }
  return { kind: 'listed', entries };
}

async function readEntry(input: ScanInput, path: string, stats: Stats): Promise<FoundEntry | Refusal> {
  if (stats.isFile()) {
    return {
      kind: 'file',
      isExecutable: (stats.mode & 0o100) !== 0,
      size: stats.size,
      inode: stats.nlink > 1 ? `${stats.dev}:${stats.ino}` : null,
      names: stats.nlink,
    };
  }
  if (stats.isSymbolicLink()) {
    const target = await readlink(join(input.workspace, path));
    const isAsBefore = input.base.get(path)?.mode === '120000';
    // A link that the base has is judged by its text when it is compared; a new one must stay inside.
    if (!isAsBefore && !isLinkInside(path, target)) return linkRefusal(path, target);
    return { kind: 'link', target };
  }
  const what = stats.isFIFO() ? 'a pipe' : stats.isSocket() ? 'a socket' : 'a device';
  return refused('JUDGE_REJECTED', `${quoted(path)} is ${what}`);
}

export const linkRefusal = (path: string, target: string): Refusal =>
  refused('JUDGE_REJECTED', `${quoted(path)} is a link that leads out of the workspace: ${quoted(target)}`);

/** An empty folder stands for a submodule; its content is another repository's. */
async function submoduleRefusal(workspace: string, entry: Seen): Promise<Refusal | null> {
  if (entry.stats.isDirectory() && (await readdir(join(workspace, entry.path))).length === 0) return null;
  return refused('JUDGE_REJECTED', `${quoted(entry.path)} is a submodule and was changed`);
}

async function takeIgnoreFile(input: ScanInput, folder: string, entries: readonly Seen[]): Promise<void> {
  const path = folder === '' ? '.gitignore' : `${folder}/.gitignore`;
  const entry = entries.find((candidate) => candidate.path === path);
  if (entry === undefined || !entry.stats.isFile() || entry.stats.size > MAX_IGNORE_FILE_BYTES) return;
  const file = await open(join(input.workspace, path), constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    await input.ignore.addFile(folder, await file.readFile());
  } finally {
    await file.close();
  }
}

function foldersOf(base: ReadonlyMap<string, BaseEntry>): ReadonlySet<string> {
  const folders = new Set<string>();
  for (const path of base.keys()) {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const folder = path.slice(0, end);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  }
  return folders;
}

const lastPart = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
