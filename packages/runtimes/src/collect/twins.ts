/** Files that are the same under two names: by a hard link here, or by their spelling on somebody else's machine. */
import type { BaseEntry } from './base-tree.js';
import type { Change } from './change.js';
import { foldedPath } from './names.js';
import { quoted, type Refusal, refused } from './refusal.js';
import type { FoundEntry } from './scan.js';

/** Names that a file has where we do not look: a hard link can make a file of others look like the agent's own. */
export function namesOutside(
  entry: Extract<FoundEntry, { kind: 'file' }>,
  entries: ReadonlyMap<string, FoundEntry>,
): number {
  if (entry.inode === null) return 0;
  let inside = 0;
  for (const other of entries.values()) if (other.kind === 'file' && other.inode === entry.inode) inside += 1;
  return entry.names - inside;
}

/** A new path that some file system takes for one that is there, also where only a folder of it is spelled otherwise. */
export function twinOf(changes: readonly Change[], base: ReadonlyMap<string, BaseEntry>): Refusal | null {
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
