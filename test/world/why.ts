/** What the explain API answers, from a console that is really served. */
import { readSettings } from '@headgate/config';
import { createConsole } from '@headgate/console';
import { createContext, listen } from '@headgate/service';
import { atEnd, temporaryDataFolder } from '@headgate/testkit';
import { aToken } from './service.js';
import { silent, type World } from './world.js';

export interface Explained {
  readonly kind: string;
  readonly summary: string;
  readonly steps: readonly {
    readonly type: string;
    readonly outcome: string | null;
    readonly reasonCode: string | null;
    readonly message: string;
    readonly rule: string | null;
    readonly runId: string | null;
  }[];
}

export async function askingWhy(world: World): Promise<(ref: string) => Promise<Explained>> {
  const read = readSettings({ HEADGATE_DATA_DIR: temporaryDataFolder() });
  if (!read.ok) throw new Error('the settings are not possible');
  const context = createContext({
    settings: read.settings,
    name: 'test console',
    serviceUrl: world.urls.serviceUrl,
    apiUrl: world.urls.apiUrl,
    redisUrl: null,
    logger: silent,
  });
  atEnd(() => context.close());
  await context.policy.refresh();
  const service = createConsole(context);
  await service.start();
  atEnd(() => service.stop());
  const routers = service.router === null ? [] : [service.router];
  const edge = await listen({ host: '127.0.0.1', port: 0, routers, logger: silent });
  atEnd(() => edge.close());
  const token = await aToken(world, 'viewer');
  return async (ref) => {
    const response = await fetch(`${edge.url}/v1/explain?ref=${encodeURIComponent(ref)}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    if (!response.ok) throw new Error(`explain answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as Explained;
  };
}
