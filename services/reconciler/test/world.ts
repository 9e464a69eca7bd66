/** A database, a context as a service has it, and reconcilers that tick when the test says so. */
import { readSettings } from '@headgate/config';
import type { Policy, RunId, TaskId } from '@headgate/domain';
import { createContext, type ServiceContext } from '@headgate/service';
import { createLogger } from '@headgate/telemetry';
import {
  atEnd,
  type SeededTenant,
  seedTenant,
  type TestStore,
  temporaryDataFolder,
  testStore,
  withClient,
} from '@headgate/testkit';
import type { ReconcilerTiming } from '../src/index.js';
import { Ticker } from './ticker.js';

export interface World {
  readonly db: TestStore;
  readonly tenant: SeededTenant;
  readonly context: ServiceContext;
  /** A reconciler of its own: each has its own place in its walks. */
  reconciler(timing?: Partial<ReconcilerTiming>): Ticker;
  /** As the owner, with the trigger of legal transitions asleep: to break what the product never breaks. */
  breakRows(sql: string, values?: readonly unknown[]): Promise<void>;
  rows<Row extends object>(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  repairs(of?: { runId?: RunId; taskId?: TaskId }): Promise<readonly Repair[]>;
}

export interface Repair {
  readonly type: string;
  readonly reasonCode: string;
  readonly runId: RunId | null;
  readonly data: Readonly<Record<string, unknown>> | null;
}

export interface WorldOptions {
  readonly policy?: Policy;
  readonly redis?: { readonly url: string; readonly prefix?: string };
  /** Where the log goes; by default nowhere. */
  readonly log?: { write(line: string): void };
}

export async function aWorld(options: WorldOptions = {}): Promise<World> {
  const db = await testStore();
  const tenant = await seedTenant(db, options.policy === undefined ? {} : { policy: options.policy });
  const context = await contextOf(db, options.redis ?? null, options.log);
  const rows = <Row extends object>(sql: string, values: readonly unknown[] = []): Promise<readonly Row[]> =>
    db.service.use((c) => c.query<Row>(sql, values));
  return {
    db,
    tenant,
    context,
    reconciler: (timing) => new Ticker(context, timing),
    breakRows: (sql, values = []) =>
      withClient(db.urls.ownerUrl, async (client) => {
        await client.query('alter table headgate.run disable trigger run_transition');
        await client.query(sql, [...values]);
        await client.query('alter table headgate.run enable trigger run_transition');
      }),
    rows,
    repairs: ({ runId, taskId } = {}) =>
      rows<Repair>(
        `select type, reason_code as "reasonCode", run_id as "runId", data from headgate.run_event
          where (reason_code like 'REPAIR%' or type like 'repair.%')
            and ($1::uuid is null or run_id = $1) and ($2::uuid is null or task_id = $2)
          order by id`,
        [runId ?? null, taskId ?? null],
      ),
  };
}

export async function contextOf(
  db: TestStore,
  redis: WorldOptions['redis'] | null = null,
  log?: WorldOptions['log'],
): Promise<ServiceContext> {
  const read = readSettings({ HEADGATE_DATA_DIR: temporaryDataFolder(), LOG_LEVEL: 'silent' });
  if (!read.ok) throw new Error('the settings are wrong');
  const context = createContext({
    settings: read.settings,
    name: 'test',
    serviceUrl: db.urls.serviceUrl,
    apiUrl: db.urls.apiUrl,
    redisUrl: redis?.url ?? null,
    ...(redis?.prefix === undefined ? {} : { hintPrefix: redis.prefix }),
    logger: createLogger(
      'test',
      log === undefined ? { level: 'silent' } : { level: 'info', destination: log },
    ),
  });
  atEnd(() => context.close());
  await context.policy.refresh();
  return context;
}
