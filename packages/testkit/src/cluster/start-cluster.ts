/** From options to a running cluster: its stores, its forge, the policy in force, its processes. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Policy } from '@headgate/domain';
import { apiTokens, openDatabase } from '@headgate/store';
import { createLogger } from '@headgate/telemetry';
import { Pool } from 'pg';
import { onTestFailed, TestRunner } from 'vitest';
import { bareRepository } from '../github/bare-repository.js';
import { atEnd } from '../services/at-end.js';
import { removeDataFolder, temporaryDataFolder } from '../services/temporary-folder.js';
import { Cluster, WEBHOOK_SECRET } from './cluster.js';
import type { ClusterOptions, PolicyChange } from './options.js';
import { clusterPostgres, clusterRedis } from './stores.js';
import { workloadPolicy } from './workload.js';

/** Starts a cluster. It ends with the test, or with the file when it was started outside of one. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const folder = temporaryDataFolder();
  atEnd(() => removeDataFolder(folder));
  for (const name of ['data', 'gates', 'history']) mkdirSync(join(folder, name), { recursive: true });
  const secretFile = join(folder, 'webhook-secret');
  writeFileSync(secretFile, WEBHOOK_SECRET, { mode: 0o600 });
  const [forge, postgres, redis] = await Promise.all([
    bareRepository({ path: join(folder, 'forge.git') }),
    clusterPostgres(options.postgres ?? 'shared'),
    clusterRedis(options.redis ?? 'shared'),
  ]);
  const database = openDatabase({
    serviceUrl: postgres.urls.serviceUrl,
    applicationName: 'cluster test',
    logger: createLogger('cluster', { level: 'silent' }),
  });
  atEnd(() => database.close());
  const pool = new Pool({ connectionString: postgres.urls.serviceUrl, max: 4 });
  pool.on('error', () => {});
  atEnd(() => pool.end());
  const policyWith = (change: PolicyChange): Policy =>
    workloadPolicy({
      forgePath: forge.path,
      gates: join(folder, 'gates'),
      secretFile,
      ...(options.lease === undefined ? {} : { lease: options.lease }),
      ...(options.route === undefined ? {} : { route: options.route }),
      ticking: options.ticking ?? false,
      lanes: options.lanes ?? [],
      policy: { ...options.policy, ...change },
    });
  const cluster = new Cluster(folder, forge, postgres, redis, database, pool, options, policyWith);
  atEnd(() => cluster.stop());
  // What the processes said is worth most where a test fails without knowing why.
  if (TestRunner.getCurrentTest() !== undefined) onTestFailed(() => console.error(cluster.logs()));
  if (options.gatesOpen === true) {
    cluster.gates.openAgents();
    cluster.gates.openVerifications();
  }
  await cluster.changePolicy({});
  await database.service.use((c) =>
    apiTokens.put(c, { token: cluster.token, name: 'cluster', role: 'admin', tenantId: null }),
  );
  await cluster.start();
  return cluster;
}
