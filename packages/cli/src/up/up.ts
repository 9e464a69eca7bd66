/**
 * Everything in one process: the private servers, the schema, the policy, the services, one port.
 *
 *   folder ─► configuration ─► Postgres ─► migrate ─► Redis ─► policy ─► services ─► port ─► ready
 *
 * The folder is claimed first (claim-folder.ts) and given back last. Each step registers what ends it
 * (lifetime.ts); the way down is the way up, backwards: the services drain and stop while Postgres still answers.
 * A SIGKILL leaves: servers that the kernel ends with us or that the next start ends, leases that run out and are
 * taken by the next worker, and `instance.json`, which names a dead process and is believed by nobody.
 */
import type { Settings } from '@headgate/config';
import type { Capabilities } from '@headgate/domain';
import { openDataFolder } from '@headgate/embedded';
import { createExampleRepository } from '@headgate/runtimes';
import { createContext, healthRouter, type Service, type ServiceContext } from '@headgate/service';
import { workers } from '@headgate/store';
import { type Logger, selfTestInstrumentation, shutdownTelemetry } from '@headgate/telemetry';
import { exampleRepositoryPath } from '../example.js';
import { EXIT, type ExitCode } from '../exit.js';
import { removeConnections, writeConnections } from '../instance/connections.js';
import { readAdminToken, removeInstance, writeInstance } from '../instance/files.js';
import { settingsOf } from '../instance/find.js';
import { loadService, SERVICE_NAMES } from '../services.js';
import { problemLines } from '../terminal/problems.js';
import type { Terminal } from '../terminal/terminal.js';
import { timeOfDay } from '../terminal/words.js';
import { VERSION } from '../version.js';
import { issueAdminToken } from './admin-token.js';
import { claimFolder } from './claim-folder.js';
import { activate, followFile, readPolicy } from './configuration.js';
import { checkPort, openEdge, reachableUrl } from './edge.js';
import { Feed } from './feed.js';
import type { Lifetime } from './lifetime.js';
import { openLog } from './log.js';
import { startDatabase, startHints } from './servers.js';
import { readyLine, summary } from './summary.js';

/** All services and the keeper of leases share one small Postgres. */
const MAX_CONNECTIONS = 20;
const REFRESH_MS = 2_000;
/** A worker's drain lets runs finish for 15 s, then hands them back. */
const DRAIN_MS = 20_000;
const STOP_SERVICE_MS = 10_000;
const CLOSE_MS = 6_000;

export interface UpOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly terminal: Terminal;
  readonly life: Lifetime;
}

/** Returns when it was asked to end, or at once when the folder's instance runs already. */
export async function up(options: UpOptions): Promise<ExitCode> {
  const { terminal, life } = options;
  const settings = settingsOf(options);
  const folder = openDataFolder(settings.dataDir);
  const log = openLog(folder.logs, settings.logLevel, terminal);
  life.onEnd('log', 1_000, async () => log.close());
  const claimed = await life.step(() =>
    claimFolder({
      dataDir: settings.dataDir,
      logger: log.logger,
      signal: life.signal,
      onWait: () => terminal.note('Another "headgate up" is starting on this folder; waiting for it …'),
    }),
  );
  if (claimed.kind === 'running') {
    const { url, pid, startedAt } = claimed.instance;
    terminal.out(readyLine(url, readAdminToken(settings.dataDir) ?? ''));
    terminal.note(`It runs already: process ${pid}, since ${timeOfDay(startedAt)}.`);
    return EXIT.done;
  }
  life.onEnd('data folder', 1_000, async () => claimed.claim.release());
  if (claimed.ended.length > 0) {
    terminal.note(`Ended what an earlier start left behind: ${claimed.ended.join(', ')}.`);
  }
  return start(settings, log, options);
}

async function start(
  settings: Settings,
  log: { readonly logger: Logger; readonly file: string },
  { env, terminal, life }: UpOptions,
): Promise<ExitCode> {
  const { logger } = log;
  await life.step(() => checkPort(settings));
  const { policy, warnings } = await life.step(() => readPolicy(settings, env, terminal));
  if (warnings.length > 0) terminal.note(problemLines(warnings, settings.configPath, terminal));

  terminal.note('Starting Postgres and Redis …');
  const database = await startDatabase(life, settings, logger);
  const redis = await startHints(life, settings, logger);
  const example = exampleRepositoryPath(settings.dataDir);
  const hasExample = policy.sources.some(({ repositories }) =>
    repositories.some(({ url }) => url === example),
  );
  if (hasExample) await life.step(() => createExampleRepository(example));

  const context = createContext({
    settings,
    name: 'headgate up',
    serviceUrl: database.urls.serviceUrl,
    apiUrl: database.urls.apiUrl,
    redisUrl: redis.unavailable === undefined ? redis.url : null,
    logger,
    maxConnections: MAX_CONNECTIONS,
  });
  life.onEnd('telemetry', 4_000, () => shutdownTelemetry());
  life.onEnd('connections', CLOSE_MS, () => context.close());
  const policyVersion = await life.step(() => activate(context, policy));
  const token = await life.step(() => issueAdminToken(settings, context.database.service));

  const services = await life.step(() => makeServices(context));
  const startedAt = context.clock.now();
  const edge = await life.step(
    () =>
      openEdge(settings, {
        logger,
        routers: [healthRouter(context, startedAt), ...services.flatMap(({ router }) => router ?? [])],
      }),
    { name: 'http', withinMs: CLOSE_MS, end: (made) => made.close() },
  );
  const url = reachableUrl(edge, settings.host);
  life.onEnd('services', DRAIN_MS + STOP_SERVICE_MS, () => stopServices(services, logger));
  const refresh = setInterval(() => void context.policy.refresh().catch(() => {}), REFRESH_MS);
  life.onEnd('policy refresh', 1_000, async () => clearInterval(refresh));
  for (const service of services) await life.step(() => service.start());
  for (const service of services) await life.step(() => service.ready());

  writeInstance(settings.dataDir, {
    url,
    pid: process.pid,
    startedAt: startedAt.toISOString(),
    version: VERSION,
  });
  life.onEnd('instance file', 1_000, async () => removeInstance(settings.dataDir, process.pid));
  writeConnections(settings.dataDir, {
    pid: process.pid,
    serviceUrl: database.urls.serviceUrl,
    apiUrl: database.urls.apiUrl,
    redisUrl: redis.unavailable === undefined ? redis.url : null,
    redisIsPrivate: redis.unavailable === undefined && redis.isPrivate,
  });
  life.onEnd('connections file', 1_000, async () => removeConnections(settings.dataDir));
  const watcher = followFile({
    context,
    env,
    currentDigest: policy.digest,
    onActivated: (version) => terminal.out(`Configuration changed: version ${version} is active.`),
    onRefused: (problems) => {
      terminal.note(problemLines(problems, settings.configPath, terminal));
      terminal.note('The configuration before it stays in force.');
    },
  });
  life.onEnd('configuration watch', 1_000, async () => watcher.close());
  const feed = new Feed(context, terminal);
  life.onEnd('feed', 2_000, () => feed.stop());

  terminal.out(readyLine(url, token));
  terminal.out(
    summary(
      {
        policy,
        policyVersion,
        configPath: settings.configPath,
        dataDir: settings.dataDir,
        logFile: log.file,
        database,
        redis,
        hasExample,
        capabilities: await life.step(() => ownCapabilities(context)),
      },
      terminal,
    ),
  );
  feed.start();
  logger.info({ url, policyVersion, instrumentation: await selfTestInstrumentation() }, 'headgate is ready');
  await untilInterrupted(life.signal);
  return EXIT.interrupted;
}

/** As its row says: what is told here is what routing goes by. */
async function ownCapabilities({ database }: ServiceContext): Promise<Capabilities> {
  const live = await database.service.use((c) => workers.live(c));
  return live.at(-1)?.capabilities ?? {};
}

async function makeServices(context: ServiceContext): Promise<readonly Service[]> {
  const services: Service[] = [];
  for (const name of SERVICE_NAMES) {
    const make = await loadService(name);
    services.push(await make(context));
  }
  return services;
}

/** All drain at once, then all stop; what one does badly is logged and keeps no other from ending. */
async function stopServices(services: readonly Service[], logger: Logger): Promise<void> {
  const each = async (what: 'drain' | 'stop'): Promise<void> => {
    const ends = await Promise.allSettled(services.map((service) => service[what]()));
    for (const [index, end] of ends.entries()) {
      if (end.status === 'rejected') {
        logger.warn({ err: end.reason, service: services[index]?.name }, `${what} failed`);
      }
    }
  };
  await each('drain');
  await each('stop');
}

const untilInterrupted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
