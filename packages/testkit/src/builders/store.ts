import { type Database, type DatabaseOptions, openDatabase } from '@headgate/store';
import { createLogger } from '@headgate/telemetry';
import { atEnd } from '../services/at-end.js';
import { type TestDatabase, testDatabase } from '../services/shared.js';

/** A migrated database of its own, opened as the real login roles. Closed and dropped at the end of the test. */
export interface TestStore extends Database {
  readonly urls: TestDatabase;
}

export async function testStore(
  options: Partial<Pick<DatabaseOptions, 'poolMode' | 'maxConnections'>> = {},
): Promise<TestStore> {
  const urls = await testDatabase();
  const database = openDatabase({
    serviceUrl: urls.serviceUrl,
    apiUrl: urls.apiUrl,
    applicationName: 'test',
    logger: createLogger('test', { level: 'silent' }),
    ...options,
  });
  atEnd(() => database.close());
  return { ...database, urls };
}
