import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { erasePostgresHome, identify, isAlive, openDataFolder } from '@headgate/embedded';

const PREFIX = 'headgate-test-';
const OWNER_FILE = 'owner.json';

/** A data folder for one test run or one test; names its owner, so that a later run can sweep it. */
export function temporaryDataFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  writeFileSync(join(folder, OWNER_FILE), JSON.stringify(identify(process.pid)));
  return folder;
}

export function removeDataFolder(folder: string): void {
  if (!existsSync(folder)) return;
  erasePostgresHome(openDataFolder(folder));
  rmSync(folder, { recursive: true, force: true });
}

/** Removes the folders of test runs that were killed. Their servers died with them or are ended by the caller. */
export function abandonedDataFolders(): readonly string[] {
  return readdirSync(tmpdir())
    .filter((name) => name.startsWith(PREFIX))
    .map((name) => join(tmpdir(), name))
    .filter(isAbandoned);
}

function isAbandoned(folder: string): boolean {
  try {
    const owner: unknown = JSON.parse(readFileSync(join(folder, OWNER_FILE), 'utf8'));
    if (typeof owner !== 'object' || owner === null || !('pid' in owner) || !('startedAt' in owner))
      return false;
    const { pid, startedAt } = owner;
    return typeof pid === 'number' && typeof startedAt === 'string' && !isAlive({ pid, startedAt });
  } catch {
    // Being made right now, or not ours.
    return false;
  }
}
