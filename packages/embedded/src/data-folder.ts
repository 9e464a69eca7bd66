import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  realpathSync,
  renameSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { EmbeddedError } from './embedded-error.js';

/** Where each part of a data folder lies (surfaces.md, "Contract for scripts"). */
export interface DataFolder {
  /** Absolute, links resolved. */
  readonly root: string;
  readonly postgres: string;
  readonly redis: string;
  readonly logs: string;
  readonly pids: string;
}

/** Makes the data folder and its parts, for this user's eyes only (0700), and says where they are. */
export function openDataFolder(dataDir: string): DataFolder {
  const root = privateFolder(resolve(dataDir));
  return {
    root,
    postgres: privateFolder(join(root, 'postgres')),
    redis: privateFolder(join(root, 'redis')),
    logs: privateFolder(join(root, 'logs')),
    pids: privateFolder(join(root, 'pids')),
  };
}

/** Makes a folder 0700, or tightens one that exists. Returns its real path. */
export function privateFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  chmodSync(path, 0o700);
  return realpathSync(path);
}

/** Writes a file of mode 0600 so that a reader sees the old or the new content, never a half. */
export function writePrivateFile(path: string, content: string): void {
  const draft = join(dirname(path), `.${process.pid}-${process.hrtime.bigint()}.draft`);
  writeFileSync(draft, content, { mode: 0o600, flag: 'wx' });
  renameSync(draft, path);
}

/** The system's temporary folder that outlives a reboot, where there is one. */
export function persistentTemp(): string {
  return existsSync('/var/tmp') ? '/var/tmp' : realpathSync(tmpdir());
}

const MEMORY_FOLDER = '/dev/shm';
/** A cluster with its log, many times over. In a container this folder may be small. */
const ROOM_BYTES = 4 * 1024 ** 3;

/** For what need not outlive the machine: in memory where there is room, since a database is a thousand small files. */
export function passingTemp(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
    return bavail * bsize >= ROOM_BYTES ? MEMORY_FOLDER : persistentTemp();
  } catch {
    return persistentTemp();
  }
}

/** Sixteen hex digits that stand for a path or any other text. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/**
 * A folder of ours in a place where anybody may create names. Somebody else could have made this one before
 * us and would then own what we put in it, so it must be a real folder, ours, and closed to other writers.
 */
export function ownFolderInSharedPlace(path: string, mode: number): string {
  mkdirSync(path, { recursive: true, mode });
  const found = lstatSync(path);
  const isOurs = found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
  if (!isOurs) {
    throw new EmbeddedError(
      'UNSAFE_FOLDER',
      `${path} was made by somebody else, or others may write to it. Remove it, then start again.`,
    );
  }
  chmodSync(path, mode);
  return path;
}
