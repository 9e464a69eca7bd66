/**
 * Where the private Postgres keeps its files.
 *
 * For an ordinary user: in the data folder. For root, Postgres runs as `nobody`, who cannot enter a data folder
 * of mode 0700: its cluster then lies in a folder under the persistent temporary folder, named by a hash of the
 * data folder. Both hold the same random id. A data folder that was deleted and made anew has another id, so the
 * old cluster is erased instead of coming back from the dead; a data folder that was moved keeps its cluster; a
 * copy of a data folder gets a cluster of its own.
 */
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  type DataFolder,
  ownFolderInSharedPlace,
  passingTemp,
  persistentTemp,
  shortHash,
  writePrivateFile,
} from '../data-folder.js';
import type { RunAs } from '../process/unprivileged.js';

export interface PostgresHome {
  /** The server's own folder; holds `data` and is its working folder. */
  readonly folder: string;
  /** The cluster (PGDATA). */
  readonly cluster: string;
  readonly runAs: RunAs | null;
  /** In the data folder, readable by us alone. */
  readonly credentialsFile: string;
  readonly portFile: string;
  readonly logFile: string;
}

export interface HomeOptions {
  /** False: what it holds need not outlive the machine, and may lie in memory. */
  readonly durable: boolean;
  /** Gets the cluster of a deleted data folder before it is erased. */
  readonly beforeErase: (cluster: string) => Promise<void>;
}

/** Finds or makes the home. */
export async function openPostgresHome(
  data: DataFolder,
  runAs: RunAs | null,
  options: HomeOptions,
): Promise<PostgresHome> {
  const folder = runAs === null ? data.postgres : await placeOutside(data, runAs, options);
  return {
    folder,
    cluster: join(folder, 'data'),
    runAs,
    credentialsFile: join(data.postgres, 'credentials.json'),
    portFile: join(data.postgres, 'port'),
    logFile: join(data.logs, 'postgres.log'),
  };
}

/** Erases the cluster and everything that belongs to it. Its server must have been stopped. */
export function erasePostgresHome(data: DataFolder): void {
  const place = readPlace(placeFile(data));
  const marker = place && readPlace(join(place.folder, MARKER));
  if (place && marker?.id === place.id) rmSync(place.folder, { recursive: true, force: true });
  rmSync(data.postgres, { recursive: true, force: true });
}

const MARKER = 'belongs-to.json';

interface Place {
  readonly id: string;
  /** In the data folder: the place. In the place: the data folder. */
  readonly folder: string;
}

async function placeOutside(
  data: DataFolder,
  runAs: RunAs,
  { durable, beforeErase }: HomeOptions,
): Promise<string> {
  const known = readPlace(placeFile(data));
  const home = known && isStillOurs(known, data) ? known : null;
  const outside = ownFolderInSharedPlace(
    home?.folder ?? join(durable ? persistentTemp() : passingTemp(), `headgate-${shortHash(data.root)}`),
    0o711,
  );
  const folder = join(outside, 'postgres');
  if (home === null) {
    if (existsSync(folder)) {
      await beforeErase(join(folder, 'data'));
      rmSync(folder, { recursive: true, force: true });
    }
    const id = randomUUID();
    // The place first: a crash between the two leaves a place that the next start erases.
    writePrivateFile(join(outside, MARKER), JSON.stringify({ id, folder: data.root } satisfies Place));
    writePrivateFile(placeFile(data), JSON.stringify({ id, folder: outside } satisfies Place));
  } else {
    writePrivateFile(
      join(outside, MARKER),
      JSON.stringify({ id: home.id, folder: data.root } satisfies Place),
    );
    touchAll(folder);
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  chownSync(folder, runAs.uid, runAs.gid);
  return folder;
}

function placeFile(data: DataFolder): string {
  return join(data.postgres, 'place.json');
}

function isStillOurs(place: Place, data: DataFolder): boolean {
  const marker = readPlace(join(place.folder, MARKER));
  if (marker?.id !== place.id) return false;
  if (marker.folder === data.root) return true;
  // Moved if the original is gone; a copy if the original still claims the place.
  return readPlace(join(marker.folder, 'postgres', 'place.json'))?.id !== place.id;
}

function readPlace(file: string): Place | null {
  try {
    const place: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof place !== 'object' || place === null || !('id' in place) || !('folder' in place)) return null;
    const { id, folder } = place;
    return typeof id === 'string' && typeof folder === 'string' ? { id, folder } : null;
  } catch {
    return null;
  }
}

/**
 * The system's cleaner removes from the temporary folder what nobody touched for a month, and Postgres may not
 * touch a table's file for longer.
 */
function touchAll(path: string): void {
  try {
    const now = new Date();
    lutimesSync(path, now, now);
    if (lstatSync(path).isDirectory()) for (const name of readdirSync(path)) touchAll(join(path, name));
  } catch {
    // Gone meanwhile: nothing to keep.
  }
}
