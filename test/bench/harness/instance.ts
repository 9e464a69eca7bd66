/** Headgate as deployed: a database with a policy, and services as processes of their own, from the built code. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Admission } from '@headgate/admission';
import { systemIds } from '@headgate/domain';
import { type ActivePolicy, type Database, Dimensions, openDatabase, policies } from '@headgate/store';
import { createLogger } from '@headgate/telemetry';
import type { RoleUrls } from '@headgate/testkit/measure';
import { policyFrom, TEST_SECRET } from '../../world/policy.js';
import { anotherTarget, submissionOf } from '../../world/signals.js';
import type { Place } from './place.js';
import { Child } from './processes.js';

const ROOT = new URL('../../../', import.meta.url).pathname;

/** Leases short enough that the loss of a worker is measured in seconds. */
const POLICY = `
version: 1
sources:
  forge:
    kind: github
    webhookSecrets: [ "\${TEST_SECRET}" ]
    repositories: { acme/api: { url: /nowhere/api.git, defaultBranch: main } }
agents: { fixer: { runtime: command, command: [ node, fix.js ] } }
routes:
  fix:
    on: [ github.check_run.completed, manual ]
    when: event.check_run.conclusion == "failure"
    retry: { maxAttempts: 3, backoff: [ 1s ] }
lease: { ttl: 6s, heartbeat: 1500ms, renewDeadline: 4s, stopMargin: 2s }
`;

export interface Instance {
  readonly urls: RoleUrls;
  readonly db: Database;
  readonly active: ActivePolicy;
  /** Distinct pieces of work, admitted in batches. */
  admit(count: number, from: number): Promise<void>;
  /** @param node another Node than ours: that of the peer which the service is measured beside. */
  service(name: string, env?: Readonly<Record<string, string>>, node?: string): Promise<RunningService>;
  rows<T extends object>(sql: string, values?: readonly unknown[]): Promise<T[]>;
  close(): Promise<void>;
}

export interface RunningService {
  readonly child: Child;
  readonly url: string;
}

const ADMIT_AT_ONCE = 1_000;

export async function openInstance(
  place: Place,
  name: string,
  through?: (url: string) => string,
): Promise<Instance> {
  const urls = await place.database(name);
  const logger = createLogger('bench', { level: 'silent' });
  const db = openDatabase({ serviceUrl: urls.serviceUrl, applicationName: 'bench', logger });
  await policies.activate(db.service, await policyFrom(POLICY), 'bench');
  const active = await db.service.use((c) => policies.active(c));
  if (active === null) throw new Error('the policy was not activated');
  const children: Child[] = [];
  const admission = new Admission({
    pool: db.service,
    dimensions: new Dimensions(db.service),
    ids: systemIds,
    logger,
    policy: () => active,
  });
  const way = through ?? ((url: string) => url);
  return {
    urls,
    db,
    active,
    admit: async (count, from) => {
      for (let done = 0; done < count; done += ADMIT_AT_ONCE) {
        const some = Math.min(ADMIT_AT_ONCE, count - done);
        const list = Array.from({ length: some }, (_, n) => submissionOf(anotherTarget(from + done + n)));
        await Promise.all(list.map((one) => admission.submit(one)));
      }
    },
    service: async (service, env = {}, node = process.execPath) => {
      const isWorker = service === 'worker';
      const entry = isWorker ? 'test/bench/harness/worker.mjs' : `services/${service}/dist/main.js`;
      const port = await freePort();
      const child = new Child(node, [...profiling(service), `${ROOT}${entry}`], {
        DATABASE_URL_SERVICE: way(urls.serviceUrl),
        DATABASE_URL_API: way(urls.apiUrl),
        ...(place.redis === null ? {} : { REDIS_URL: place.redis.url }),
        HEADGATE_DATA_DIR: `${place.folder}/${name}`,
        HEADGATE_PORT: String(port),
        LOG_LEVEL: 'warn',
        NODE_ENV: 'production',
        TEST_SECRET,
        ...env,
      });
      children.push(child);
      const url = `http://127.0.0.1:${port}`;
      await answers(`${url}/readyz`, child);
      return { child, url };
    },
    rows: (sql, values = []) => db.service.use((c) => c.query(sql, values)) as Promise<never[]>,
    close: async () => {
      await Promise.all(children.map((child) => child.end()));
      await db.close();
    },
  };
}

/** With BENCH_CPU_PROFILES=folder each service leaves a profile there when it ends. */
function profiling(service: string): readonly string[] {
  const folder = process.env['BENCH_CPU_PROFILES'];
  return folder === undefined
    ? []
    : ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${service}-${Date.now()}.cpuprofile`];
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

const READY_WITHIN_MS = 60_000;
const LOOK_AGAIN_MS = 50;

async function answers(url: string, child: Child): Promise<void> {
  const untilMs = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const isReady = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (isReady) return;
    if (performance.now() > untilMs || child.hasExited) throw child.fault('was not ready');
    await delay(LOOK_AGAIN_MS);
  }
}
