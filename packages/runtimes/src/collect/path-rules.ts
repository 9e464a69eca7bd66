/** Which paths a result may touch. Patterns are globs over the whole path: `*` stays within a folder, `**` does not. */
import { PROTECTED_PATHS } from '@headgate/domain';
import picomatch from 'picomatch';
import { foldedPath } from './names.js';
import { quoted, type Refusal, refused } from './refusal.js';

export interface PathRules {
  /** What the result may touch; empty = everything that is not protected. */
  readonly paths: readonly string[];
  /** In addition to `PROTECTED_PATHS`. */
  readonly protectedPaths: readonly string[];
}

/** The first path that breaks a rule, as a refusal; null when none does. */
export function judgePaths(changed: readonly string[], rules: PathRules): Refusal | null {
  // Case does not help to get around protection: some file systems, and some tools, ignore it.
  const isProtected = matcher([...PROTECTED_PATHS, ...rules.protectedPaths], true);
  const isAllowed = rules.paths.length === 0 ? () => true : matcher(rules.paths, false);
  for (const path of changed) {
    if (isProtected(path) || isProtected(foldedPath(path)))
      return refused('PROTECTED_PATH', `${quoted(path)} is protected`);
    if (!isAllowed(path)) {
      return refused('OUT_OF_SCOPE', `${quoted(path)} is outside the paths that the route may change`);
    }
  }
  return null;
}

/** A pattern that names a folder covers all in it. */
function matcher(patterns: readonly string[], nocase: boolean): (path: string) => boolean {
  const all = patterns.flatMap((pattern) => {
    const plain = pattern.replace(/^\.?\//, '').replace(/\/+$/, '');
    return [plain, `${plain}/**`];
  });
  return picomatch(all, { dot: true, nocase });
}
