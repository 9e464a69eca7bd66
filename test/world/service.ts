/** A service's context over a world's database, and its routes on a free loopback port. */
import { readSettings } from '@headgate/config';
import { createContext, type HttpEdge, listen, type Service, type ServiceContext } from '@headgate/service';
import { apiTokens, generateToken, type TokenRole } from '@headgate/store';
import { atEnd } from '@headgate/testkit';
import { silent, type World } from './world.js';

export interface ContextChange {
  readonly serviceUrl?: string;
  readonly redisUrl?: string;
  readonly hintPrefix?: string;
  /** With the console's own role. */
  readonly apiUrl?: string;
  readonly maxConnections?: number;
}

export async function aContext(
  world: { readonly urls: Pick<World['urls'], 'serviceUrl'> },
  change: ContextChange = {},
): Promise<ServiceContext> {
  const read = readSettings({}, '/nowhere');
  if (!read.ok) throw new Error('the default settings are not possible');
  const context = createContext({
    settings: read.settings,
    name: 'test',
    serviceUrl: change.serviceUrl ?? world.urls.serviceUrl,
    apiUrl: change.apiUrl ?? null,
    redisUrl: change.redisUrl ?? null,
    logger: silent,
    ...(change.hintPrefix === undefined ? {} : { hintPrefix: change.hintPrefix }),
    ...(change.maxConnections === undefined ? {} : { maxConnections: change.maxConnections }),
  });
  atEnd(() => context.close());
  await context.policy.refresh();
  return context;
}

export async function served(service: Service): Promise<HttpEdge> {
  await service.start();
  atEnd(() => service.stop());
  const edge = await listen({
    host: '127.0.0.1',
    port: 0,
    routers: service.router === null ? [] : [service.router],
    logger: silent,
  });
  atEnd(() => edge.close());
  return edge;
}

/** A token's text. */
export async function aToken(world: World, role: TokenRole, tenantId: number | null = null): Promise<string> {
  const token = generateToken();
  await world.database.service.use((c) => apiTokens.put(c, { token, name: `the ${role}`, role, tenantId }));
  return token;
}
