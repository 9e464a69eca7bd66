import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openDataFolder, type PostgresServer } from '../src/index.js';
import { erasePostgresHome } from '../src/postgres/home.js';

/** A folder that only we may enter (mode 700), removed at the end of the test. */
export function closedFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'embedded-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A data folder in a closed folder, erased with its cluster at the end of the test. */
export function dataFolder(): string {
  const folder = join(closedFolder(), 'data');
  onTestFinished(() => erasePostgresHome(openDataFolder(folder)));
  return folder;
}

/** Stops the server at the end of the test, if the test has not. */
export function stoppedAtEnd<T extends Pick<PostgresServer, 'stop'>>(server: T): T {
  onTestFinished(() => server.stop());
  return server;
}
