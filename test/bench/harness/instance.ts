/** Headgate as deployed: a database with a policy, and services as processes of their own, from the built code. */
import { Admission } from '@headgate/admission';
import { systemIds } from '@headgate/domain';
import { type ActivePolicy, type Database, Dimensions, openDatabase, policies } from '@headgate/store';
import { createLogger } from '@headgate/telemetry';
import type { RoleUrls } from '@headgate/testkit/measure';
import { policyFrom, TEST_SECRET } from '../../world/policy.js';
import { anotherTarget, submissionOf } from '../../world/signals.js';
import type { Place } from './place.js';
import { Child, type Line } from './processes.js';

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
  service(name: string, env?: Readonly<Record<string, string>>): Promise<RunningService>;
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
    service: async (service, env = {}) => {
      const isWorker = service === 'worker';
      const entry = isWorker ? 'test/bench/harness/worker.mjs' : `services/${service}/dist/main.js`;
      const child = new Child(process.execPath, [`${ROOT}${entry}`], {
        DATABASE_URL_SERVICE: way(urls.serviceUrl),
        DATABASE_URL_API: way(urls.apiUrl),
        ...(place.redis === null ? {} : { REDIS_URL: place.redis.url }),
        HEADGATE_DATA_DIR: `${place.folder}/${name}`,
        HEADGATE_PORT: '0',
        NODE_ENV: 'production',
        TEST_SECRET,
        ...env,
      });
      children.push(child);
      return { child, url: await child.said('that it is ready', readyUrl) };
    },
    rows: (sql, values = []) => db.service.use((c) => c.query(sql, values)) as Promise<never[]>,
    close: async () => {
      await Promise.all(children.map((child) => child.end()));
      await db.close();
    },
  };
}

const readyUrl = (line: Line): string | undefined =>
  typeof line['msg'] === 'string' && line['msg'].endsWith('is ready') && typeof line['url'] === 'string'
    ? line['url']
    : undefined;
