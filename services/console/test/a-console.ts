/** A console as it is served, over a database of its own, with two tenants and a token for every role. */
import { readSettings } from '@headgate/config';
import type { Policy } from '@headgate/domain';
import { createContext, healthRouter, listen, type ServiceContext } from '@headgate/service';
import { apiTokens, generateToken, type TokenRole } from '@headgate/store';
import { createLogger } from '@headgate/telemetry';
import {
  aPolicy,
  aRoute,
  aSource,
  aTenantPolicy,
  atEnd,
  removeDataFolder,
  type SeededTenant,
  seedTenant,
  type TestRedis,
  type TestStore,
  temporaryDataFolder,
  testStore,
} from '@headgate/testkit';
import { type ConsoleOptions, createConsole } from '../src/index.js';

export interface AskOptions {
  readonly method?: string;
  readonly token?: string | null;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TestConsole {
  readonly url: string;
  readonly store: TestStore;
  readonly context: ServiceContext;
  readonly dataDir: string;
  /** The tenant of most rows, and one that must never see them. */
  readonly tenant: SeededTenant;
  readonly other: SeededTenant;
  readonly tokens: Readonly<Record<TokenRole | 'tenant' | 'other', string>>;
  /** As admin unless told otherwise; `token: null` sends none. */
  ask(path: string, options?: AskOptions): Promise<Response>;
  json<T>(path: string, options?: AskOptions): Promise<T>;
}

export const aTwoTenantPolicy = (change: Partial<Omit<Policy, 'digest'>> = {}): Policy =>
  aPolicy({
    tenants: [aTenantPolicy(), aTenantPolicy({ id: 'other' })],
    sources: [aSource(), aSource({ id: 'others-source', tenant: 'other', repositories: [] })],
    routes: [aRoute(), aRoute({ id: 'others-route', tenant: 'other' })],
    ...change,
  });

export async function aConsole(
  options: ConsoleOptions & {
    readonly redis?: TestRedis;
    readonly policy?: Policy;
    readonly store?: TestStore;
    /** Instead of the database's own. */
    readonly apiUrl?: string;
    /** Of the console; rows are seeded directly. */
    readonly serviceUrl?: string;
  } = {},
): Promise<TestConsole> {
  const store = options.store ?? (await testStore());
  const dataDir = temporaryDataFolder();
  atEnd(() => removeDataFolder(dataDir));
  const read = readSettings({ HEADGATE_DATA_DIR: dataDir });
  if (!read.ok) throw new Error(read.problems.map((problem) => problem.message).join());
  const logger = createLogger('test', { level: 'silent' });
  const context = createContext({
    settings: read.settings,
    name: 'test console',
    serviceUrl: options.serviceUrl ?? store.urls.serviceUrl,
    apiUrl: options.apiUrl ?? store.urls.apiUrl,
    redisUrl: options.redis?.url ?? null,
    ...(options.redis === undefined ? {} : { hintPrefix: options.redis.prefix }),
    logger,
  });
  atEnd(() => context.close());
  const tenant = await seedTenant(store, { policy: options.policy ?? aTwoTenantPolicy() });
  const other = await seedTenant(store, { key: 'other', route: 'others-route' });
  await context.policy.refresh();
  const service = createConsole(context, {
    rateLimits: { apiPerMinute: 100_000, signInPerMinute: 100_000, ...options.rateLimits },
  });
  if (service.router === null) throw new Error('the console has no routes');
  const edge = await listen({
    host: '127.0.0.1',
    port: 0,
    logger,
    routers: [healthRouter(context, new Date()), service.router],
  });
  atEnd(() => edge.close());
  atEnd(() => service.stop());
  await service.start();
  await service.ready();

  const token = async (name: string, role: TokenRole, tenantId: number | null): Promise<string> => {
    const made = generateToken();
    await store.service.use((c) => apiTokens.put(c, { token: made, name, role, tenantId }));
    return made;
  };
  const tokens = {
    viewer: await token('viewer', 'viewer', null),
    operator: await token('operator', 'operator', null),
    approver: await token('approver', 'approver', null),
    admin: await token('admin', 'admin', null),
    tenant: await token('tenant', 'admin', tenant.id),
    other: await token('other', 'admin', other.id),
  };
  const ask = (path: string, { method = 'GET', token, body, headers }: AskOptions = {}): Promise<Response> =>
    fetch(`${edge.url}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token ?? tokens.admin}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  return {
    url: edge.url,
    store,
    context,
    dataDir,
    tenant,
    other,
    tokens,
    ask,
    json: async <T>(path: string, asked: AskOptions = {}): Promise<T> => {
      const response = await ask(path, asked);
      if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
      return (await response.json()) as T;
    },
  };
}
