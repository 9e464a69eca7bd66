/** What a service is given: everything that touches the outside, made once per process. */
import type { Settings } from '@headgate/config';
import { type Clock, type Ids, type Random, systemClock, systemIds } from '@headgate/domain';
import { type Database, Dimensions, openDatabase } from '@headgate/store';
import { type Logger, registerUrlSecrets } from '@headgate/telemetry';
import { createHintBus, type HintBus } from '@headgate/transport';
import { type DataPaths, dataPaths } from './data-paths.js';
import { hintMetrics } from './hint-metrics.js';
import { PolicyHolder } from './policy-holder.js';

export interface ServiceContext {
  readonly settings: Settings;
  readonly paths: DataPaths;
  readonly database: Database;
  /** For threads that need sessions of their own. */
  readonly serviceUrl: string;
  readonly dimensions: Dimensions;
  readonly bus: HintBus;
  readonly policy: PolicyHolder;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
  /** Ends pools and connections; bounded, whatever is dead. */
  close(): Promise<void>;
}

export interface ContextOptions {
  readonly settings: Settings;
  /** Names the process in Postgres and in logs: `headgate up`, `headgate worker`. */
  readonly name: string;
  readonly serviceUrl: string;
  readonly apiUrl: string | null;
  readonly redisUrl: string | null;
  readonly hintPrefix?: string;
  readonly logger: Logger;
  readonly maxConnections?: number;
}

/** Opens nothing yet that could fail: pools and bus connect by themselves, and again after an outage. */
export function createContext(options: ContextOptions): ServiceContext {
  registerUrlSecrets(options.serviceUrl, options.apiUrl, options.redisUrl, options.settings.databaseUrl);
  const database = openDatabase({
    serviceUrl: options.serviceUrl,
    apiUrl: options.apiUrl,
    poolMode: options.settings.dbPool,
    applicationName: options.name,
    logger: options.logger,
    ...(options.maxConnections === undefined ? {} : { maxConnections: options.maxConnections }),
  });
  const bus = createHintBus({
    url: options.redisUrl,
    logger: options.logger,
    clock: systemClock,
    observe: hintMetrics,
    ...(options.hintPrefix === undefined ? {} : { prefix: options.hintPrefix }),
  });
  return {
    settings: options.settings,
    paths: dataPaths(options.settings.dataDir),
    database,
    serviceUrl: options.serviceUrl,
    dimensions: new Dimensions(database.service),
    bus,
    policy: new PolicyHolder(database.service),
    logger: options.logger,
    clock: systemClock,
    ids: systemIds,
    random: Math.random,
    close: async () => {
      await bus.close({ graceMs: 500 });
      await database.close();
    },
  };
}
