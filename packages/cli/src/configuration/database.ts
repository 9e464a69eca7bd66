/** The Postgres that holds the active policy: that of the environment, else of the instance on the data folder. */
import type { Settings } from '@headgate/config';
import type { Pool } from '@headgate/store';
import type { CommandContext } from '../commands/command.js';
import { CommandEnd, EXIT } from '../exit.js';
import { readConnections } from '../instance/connections.js';
import { settingsOf } from '../instance/find.js';
import { runningInstance } from '../instance/running.js';

/** Opens it for one piece of work, as the services' role. Ends the command when there is none, or it does not answer. */
export async function withDatabase<T>(context: CommandContext, work: (pool: Pool) => Promise<T>): Promise<T> {
  const settings = settingsOf(context);
  const [{ openDatabase, isConnectionFault }, { createLogger }] = await Promise.all([
    import('@headgate/store'),
    import('@headgate/telemetry'),
  ]);
  const database = openDatabase({
    serviceUrl: await serviceUrlOf(settings),
    apiUrl: null,
    poolMode: settings.dbPool,
    applicationName: 'headgate config',
    logger: createLogger('config', { level: 'silent' }),
    maxConnections: 2,
  });
  try {
    return await work(database.service);
  } catch (fault) {
    if (!isConnectionFault(fault)) throw fault;
    throw new CommandEnd(EXIT.notReached, 'Postgres does not answer.', 'Look at it: headgate doctor', {
      cause: fault,
    });
  } finally {
    await database.close();
  }
}

async function serviceUrlOf(settings: Settings): Promise<string> {
  if (settings.databaseUrlService !== null) return settings.databaseUrlService;
  if (settings.databaseUrl !== null) {
    const { roleUrls } = await import('@headgate/store');
    const { dataDir, databaseUrl: ownerUrl } = settings;
    return (await roleUrls({ ownerUrl, dataDir })).serviceUrl;
  }
  const isRunning = (await runningInstance(settings.dataDir)) !== null;
  const connections = isRunning ? readConnections(settings.dataDir) : null;
  if (connections !== null) return connections.serviceUrl;
  throw new CommandEnd(
    EXIT.notReached,
    'There is no Postgres to ask: DATABASE_URL is not set, and no instance runs on the data folder.',
    'Start one with "headgate up", or set DATABASE_URL.',
  );
}
