/** What a running `up` leaves in its data folder for the commands beside it (docs/cli.md). */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivateFile } from '@headgate/embedded';

export interface Instance {
  readonly url: string;
  readonly pid: number;
  /** RFC 3339. */
  readonly startedAt: string;
  readonly version: string;
}

const instanceFile = (dataDir: string): string => join(dataDir, 'instance.json');
export const adminTokenFile = (dataDir: string): string => join(dataDir, 'admin-token');

export function writeInstance(dataDir: string, instance: Instance): void {
  writePrivateFile(instanceFile(dataDir), `${JSON.stringify(instance)}\n`);
}

/** Removes the file if it is still the one of this process. */
export function removeInstance(dataDir: string, pid: number): void {
  if (readInstance(dataDir)?.pid === pid) rmSync(instanceFile(dataDir), { force: true });
}

/** Null when there is none, or what is there makes no sense. */
export function readInstance(dataDir: string): Instance | null {
  try {
    const found: unknown = JSON.parse(readFileSync(instanceFile(dataDir), 'utf8'));
    return isInstance(found) ? found : null;
  } catch {
    return null;
  }
}

export function writeAdminToken(dataDir: string, token: string): void {
  writePrivateFile(adminTokenFile(dataDir), `${token}\n`);
}

export function readAdminToken(dataDir: string): string | null {
  try {
    return readFileSync(adminTokenFile(dataDir), 'utf8').trim() || null;
  } catch {
    return null;
  }
}

function isInstance(value: unknown): value is Instance {
  if (typeof value !== 'object' || value === null) return false;
  const { url, pid, startedAt, version } = value as Record<string, unknown>;
  return (
    typeof url === 'string' &&
    URL.canParse(url) &&
    typeof pid === 'number' &&
    typeof startedAt === 'string' &&
    typeof version === 'string'
  );
}
