/**
 * How another process of this machine reaches the Postgres and Redis of a running `up`: `{data}/connections.json`,
 * for this user's eyes only. For `headgate doctor` and `headgate demo break`; it names the services' role, never the
 * owner.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivateFile } from '@headgate/embedded';

export interface Connections {
  readonly pid: number;
  readonly serviceUrl: string;
  readonly apiUrl: string;
  /** Null: it runs without Redis. */
  readonly redisUrl: string | null;
  /** Only a private Redis may be emptied as a whole. */
  readonly redisIsPrivate: boolean;
}

const fileOf = (dataDir: string): string => join(dataDir, 'connections.json');

export function writeConnections(dataDir: string, connections: Connections): void {
  writePrivateFile(fileOf(dataDir), `${JSON.stringify(connections)}\n`);
}

export function removeConnections(dataDir: string): void {
  rmSync(fileOf(dataDir), { force: true });
}

/** Null when there are none, or what is there makes no sense. */
export function readConnections(dataDir: string): Connections | null {
  try {
    const found: unknown = JSON.parse(readFileSync(fileOf(dataDir), 'utf8'));
    return isConnections(found) ? found : null;
  } catch {
    return null;
  }
}

function isConnections(value: unknown): value is Connections {
  if (typeof value !== 'object' || value === null) return false;
  const { pid, serviceUrl, apiUrl, redisUrl, redisIsPrivate } = value as Record<string, unknown>;
  return (
    typeof pid === 'number' &&
    typeof serviceUrl === 'string' &&
    typeof apiUrl === 'string' &&
    (redisUrl === null || typeof redisUrl === 'string') &&
    typeof redisIsPrivate === 'boolean'
  );
}
