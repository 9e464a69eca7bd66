/** A migrated database with an active policy, and what tests of several packages need on top of it. */
import { Admission, type AdmittedRun } from '@headgate/admission';
import { Dispatcher, type DispatcherOptions } from '@headgate/dispatch';
import { type Policy, systemClock, systemIds, type WorkerId } from '@headgate/domain';
import {
  type ActivePolicy,
  type Database,
  Dimensions,
  openDatabase,
  policies,
  workers,
} from '@headgate/store';
import { createLogger, type Logger } from '@headgate/telemetry';
import { atEnd, testDatabase, withClient } from '@headgate/testkit';
import { createHintBus, type HintBus } from '@headgate/transport';
import { CHECKS, policyFrom } from './policy.js';

export const silent: Logger = createLogger('test', { level: process.env['TEST_LOG_LEVEL'] ?? 'silent' });

export interface World {
  readonly urls: { readonly ownerUrl: string; readonly serviceUrl: string; readonly apiUrl: string };
  readonly database: Database;
  readonly dimensions: Dimensions;
  readonly active: ActivePolicy;
  /** One more pool of its own, as of another process. */
  another(): { readonly database: Database; readonly dimensions: Dimensions };
  /** The same world with its services' sessions on another way to the same database. */
  through(serviceUrl: string): World;
  /** Makes another policy the active one. */
  activate(policy: Policy): Promise<ActivePolicy>;
  /** Rows, as the owner sees them. */
  sql<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  readonly tenantId: number;
}

export async function aWorld(policy?: Policy, urls?: World['urls']): Promise<World> {
  const place = urls ?? (await testDatabase());
  const opened: Database[] = [];
  atEnd(async () => {
    await Promise.all(opened.map((database) => database.close()));
  });
  const open = (serviceUrl: string) => () => {
    const database = openDatabase({ serviceUrl, applicationName: 'test', logger: silent });
    opened.push(database);
    return { database, dimensions: new Dimensions(database.service) };
  };
  const another = open(place.serviceUrl);
  const { database, dimensions } = another();
  const activate = async (next: Policy): Promise<ActivePolicy> => {
    await policies.activate(database.service, next, 'test');
    const active = await database.service.use((c) => policies.active(c));
    if (active === null) throw new Error('the policy was not activated');
    return active;
  };
  const active = await activate(policy ?? (await policyFrom(CHECKS)));
  const world: World = {
    urls: place,
    database,
    dimensions,
    active,
    another,
    through: (serviceUrl) => ({ ...world, another: open(serviceUrl) }),
    activate,
    // Under RLS the owner has a policy of its own and sees everything.
    sql: <Row>(text: string, values: readonly unknown[] = []) =>
      withClient(place.ownerUrl, async (client) => (await client.query(text, [...values])).rows as Row[]),
    tenantId: active.tenantIds.get('default') ?? 0,
  };
  return world;
}

export interface AdmissionOf {
  readonly admission: Admission;
  /** Runs told to be ready, in order. */
  readonly admitted: AdmittedRun[];
}

export function anAdmission(world: World, active: () => ActivePolicy = () => world.active): AdmissionOf {
  const { database, dimensions } = world.another();
  const admitted: AdmittedRun[] = [];
  const admission = new Admission({
    pool: database.service,
    dimensions,
    ids: systemIds,
    logger: silent,
    policy: active,
    onAdmitted: (runs) => admitted.push(...runs),
  });
  return { admission, admitted };
}

export const noRedis = (): HintBus => createHintBus({ url: null, logger: silent, clock: systemClock });

export function aDispatcher(world: World, options: Partial<DispatcherOptions> = {}): Dispatcher {
  const { database, dimensions } = world.another();
  return new Dispatcher({
    pool: database.service,
    bus: noRedis(),
    dimensions,
    logger: silent,
    policy: () => world.active,
    actor: 'test',
    ...options,
  });
}

/** A live worker of the queue `default`; its row alone, nobody runs anything. */
export async function aWorker(
  world: World,
  slots: number,
  queues: readonly string[] = ['default'],
): Promise<WorkerId> {
  const { database, dimensions } = world;
  const keys = queues.map((key) => ({ tenantId: 0, kind: 'queue' as const, key }));
  await dimensions.ensure(keys);
  const id = systemIds.next('wkr');
  await database.service.use(async (c) => {
    await workers.register(c, {
      id,
      name: 'test',
      capabilities: {},
      queueIds: keys.map((key) => dimensions.id(key)),
      slots,
      leaseTtlMs: 600_000,
      host: 'localhost',
      pid: process.pid,
      version: '0',
    });
    await workers.setState(c, id, 'READY');
  });
  return id;
}
