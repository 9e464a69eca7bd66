/**
 * A deployable's `main`: settings from the environment, one context, one service, one port; SIGTERM drains, a second
 * signal ends at once. Every step of the way down is bounded, so that the process ends though Postgres or Redis hang.
 */
import { readSettings } from '@headgate/config';
import { roleUrls } from '@headgate/store';
import { createLogger, type Logger, shutdownTelemetry } from '@headgate/telemetry';
import { type ContextOptions, createContext, type ServiceContext } from './context.js';
import { healthRouter } from './http/health.js';
import { type HttpEdge, listen } from './http/server.js';
import type { Service } from './service.js';

export type MakeService = (context: ServiceContext) => Service | Promise<Service>;

/** Whoever dispatches or claims sees another policy at once; this is for those who only read it. */
const REFRESH_MS = 5_000;
const STOP_MS = 30_000;

/** Exit code 2: the configuration cannot work. */
export async function runService(name: string, make: MakeService): Promise<void> {
  const logger = createLogger(name);
  const read = readSettings(process.env);
  if (!read.ok) {
    for (const problem of read.problems)
      process.stderr.write(`${problem.path} ${problem.message}. ${problem.fix}\n`);
    process.exit(2);
  }
  const { settings } = read;
  if (settings.databaseUrl === null && settings.databaseUrlService === null) {
    process.stderr.write(
      'DATABASE_URL is not set: a service of its own needs a Postgres. "headgate up" brings its own.\n',
    );
    process.exit(2);
  }
  const urls =
    settings.databaseUrlService !== null
      ? { serviceUrl: settings.databaseUrlService, apiUrl: settings.databaseUrlApi }
      : await roleUrls({
          ownerUrl: settings.databaseUrl ?? '',
          dataDir: settings.dataDir,
          apiUrl: settings.databaseUrlApi,
        });
  const options: ContextOptions = {
    settings,
    name: `headgate ${name}`,
    serviceUrl: urls.serviceUrl,
    apiUrl: urls.apiUrl,
    redisUrl: settings.redisUrl,
    logger,
  };
  const context = createContext(options);
  await policyArrives(context);
  const service = await make(context);
  const edge = await listen({
    host: settings.host,
    port: settings.port,
    logger,
    routers: [healthRouter(context, new Date()), ...(service.router === null ? [] : [service.router])],
  });
  const refresh = setInterval(() => void context.policy.refresh().catch(() => {}), REFRESH_MS);
  onStopSignal(logger, () => endAll(service, edge, context, refresh));
  await service.start();
  await service.ready();
  logger.info({ url: edge.url }, `${name} is ready`);
}

/** Waits for Postgres and for the first policy: services may be started in any order. */
export async function policyArrives(context: ServiceContext): Promise<void> {
  for (let told = false; ; ) {
    const active = await context.policy.refresh().catch((fault: unknown) => {
      if (!told) context.logger.warn({ err: fault }, 'waiting for Postgres');
      told = true;
      return null;
    });
    if (active !== null) return;
    if (!told) context.logger.warn('waiting for a policy: run "headgate config apply" or "headgate up"');
    told = true;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function endAll(
  service: Service,
  edge: HttpEdge,
  context: ServiceContext,
  refresh: NodeJS.Timeout,
): Promise<void> {
  clearInterval(refresh);
  await service.drain();
  await edge.close();
  await service.stop();
  await context.close();
  await shutdownTelemetry();
}

/** The first SIGTERM or SIGINT stops in order, bounded; the second ends at once. */
export function onStopSignal(logger: Logger, stop: () => Promise<void>): void {
  let stopping = false;
  const handle = (signal: NodeJS.Signals): void => {
    const code = signal === 'SIGINT' ? 130 : 0;
    if (stopping) process.exit(code === 0 ? 1 : code);
    stopping = true;
    const timer = setTimeout(() => {
      logger.error('stopping took too long; ending now');
      process.exit(1);
    }, STOP_MS);
    stop().then(
      () => {
        clearTimeout(timer);
        process.exit(code);
      },
      (fault: unknown) => {
        logger.error({ err: fault }, 'stopping failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', handle);
  process.on('SIGINT', handle);
}
