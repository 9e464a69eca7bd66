/** The metrics of the requirements, as a Prometheus of our own scrapes them from real processes (Q32). */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { RunId } from '@headgate/domain';
import { parseId, systemClock } from '@headgate/domain';
import { cancelRun } from '@headgate/store';
import { METRICS, prometheusSeries, REQUIRED_METRICS } from '@headgate/telemetry';
import {
  atEnd,
  describeWithTool,
  eventually,
  removeDataFolder,
  requireTool,
  SHORT_LEASE,
  spawnProgram,
  temporaryDataFolder,
  testRedis,
} from '@headgate/testkit';
import { createHintBus } from '@headgate/transport';
import { expect, it } from 'vitest';
import { deliver } from '../world/deliveries.js';
import { silent } from '../world/world.js';
import { type Deployed, deployment } from './deployment.js';

const PATIENCE_MS = 60_000;

/** A Prometheus with a folder and a port of its own. `scrape` names who is asked, each second. */
async function prometheus() {
  const folder = temporaryDataFolder();
  atEnd(() => removeDataFolder(folder));
  mkdirSync(join(folder, 'data'), { recursive: true });
  const targets = join(folder, 'targets.json');
  const scrape = (services: readonly Deployed[]): void => {
    writeFileSync(
      `${targets}.new`,
      JSON.stringify([{ targets: services.map(({ url }) => new URL(url).host) }]),
    );
    renameSync(`${targets}.new`, targets);
  };
  scrape([]);
  writeFileSync(
    join(folder, 'prometheus.yml'),
    'global: { scrape_interval: 1s, scrape_timeout: 1s }\nscrape_configs:\n  - job_name: headgate\n' +
      `    file_sd_configs: [ { files: [ ${JSON.stringify(targets)} ], refresh_interval: 1s } ]\n`,
  );
  const port = await freePort();
  const running = await spawnProgram({
    program: requireTool('prometheus'),
    args: [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    cwd: folder,
  });
  await running.waitForOutput(/Server is ready to receive web requests/, PATIENCE_MS);
  const ask = async (query: string): Promise<readonly Sample[]> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`);
    const { status, data } = (await response.json()) as { status: string; data: { result: Sample[] } };
    if (status !== 'success') throw new Error(`Prometheus answered ${query} with ${status}`);
    return data.result;
  };
  return { scrape, ask };
}

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/** The text through `promtool check metrics`: what it complains of, a line each. */
const lint = (text: string): Promise<readonly string[]> =>
  new Promise((resolve) => {
    const child = execFile(requireTool('promtool'), ['check', 'metrics'], (_fault, stdout, stderr) =>
      resolve(`${stdout}${stderr}`.split('\n').filter(Boolean)),
    );
    child.stdin?.end(text);
  });

describeWithTool('prometheus', 'metrics as Prometheus sees them', () => {
  it('Q32: all fourteen metrics of the requirements come from real processes under exactly their names', async () => {
    const redis = await testRedis();
    const deployed = await deployment({
      env: { REDIS_URL: redis.url, OTEL_SDK_DISABLED: 'true' },
      agentEnv: { HEADGATE_EXAMPLE_SLEEP_MS: '8000' },
      policy: (policy) => ({
        lease: SHORT_LEASE,
        tenants: policy.tenants.map((tenant) => ({ ...tenant, maxActive: 1 })),
        routes: policy.routes.map((route) => ({
          ...route,
          onNewVersion: 'allow',
          concurrency: { key: 'all', limit: 100 },
        })),
      }),
    });
    const [intake, scheduler, reconciler, worker, prom] = await Promise.all([
      deployed.start('intake'),
      deployed.start('scheduler'),
      deployed.start('reconciler'),
      deployed.start('worker'),
      prometheus(),
    ]);
    const control = [intake, scheduler, reconciler];
    prom.scrape([...control, worker]);
    const sees = (query: string): Promise<unknown> =>
      eventually(async () => ((await prom.ask(query)).length > 0 ? true : null), {
        what: `Prometheus knows ${query}`,
        deadlineMs: PATIENCE_MS,
        everyMs: 200,
      }).catch(async (fault: unknown) => {
        const [name = ''] = /^\w+/.exec(query) ?? [];
        const known = (await prom.ask(name)).map(({ metric, value }) => ({ ...metric, value: value[1] }));
        throw new Error(`${String(fault)}; of ${name} it knows ${JSON.stringify(known)}`);
      });

    // One runs, one waits for the tenant's only place, one is a duplicate, one hint names nothing.
    const first = await deployed.fail(intake, await deployed.defect());
    await deployed.reaches(first.runId, 'RUNNING');
    const head = await deployed.defect();
    const deliveryId = randomUUID();
    const second = await deliver(intake.url, { headSha: head, deliveryId });
    expect(await deliver(intake.url, { headSha: head, deliveryId })).toMatchObject({
      body: { reasonCode: 'DUPLICATE_DELIVERY' },
    });
    const bus = createHintBus({ url: redis.url, logger: silent, clock: systemClock });
    atEnd(() => bus.close());
    await bus.publish([{ queue: 'default', runId: randomUUID() as RunId, dispatchNo: 1, traceparent: null }]);
    await sees('max_over_time(scheduler_queue_oldest_ready_age_seconds[10m]) > 0');
    await sees('scheduler_capacity_denied_count_total{dimension="tenant"} > 0');
    await sees('scheduler_claim_empty_count_total > 0');
    await sees('max_over_time(scheduler_lease_active_count[10m]) == 1');
    await sees('max_over_time(scheduler_worker_active_count[10m]) == 1');

    // The worker dies, its lease is reaped, another takes both runs; one of them is cancelled in its agent.
    await worker.process.sigkill();
    await sees('scheduler_lease_expired_count_total > 0');
    await sees('scheduler_retry_count_total{reason_code="WORKER_LOST"} > 0');
    const other = await deployed.start('worker');
    prom.scrape([...control, other]);
    const running = await eventually(
      async () => {
        const [row] = await deployed.world.sql<{ id: RunId }>(
          `select id from headgate.run where status = 'RUNNING'`,
        );
        return row?.id ?? null;
      },
      { what: 'the other worker runs one', deadlineMs: PATIENCE_MS },
    );
    await cancelRun(deployed.world.database.reserved, running, { actor: 'test', reason: null });
    // The other of the two was about a commit that has moved on; news of the newest one is worked on to its end.
    expect([first.runId, String(second.body['runId'])].map((id) => parseId('run', id))).toContain(running);
    const last = await deployed.fail(intake, await deployed.defect());
    await deployed.reaches(last.runId, 'SUCCEEDED');
    await sees('scheduler_run_duration_seconds_count{status="SUCCEEDED"} > 0');
    await sees('scheduler_cancellation_latency_seconds_count > 0');

    // At some moment of the story: an empty queue has no depth now.
    for (const id of REQUIRED_METRICS) {
      for (const series of prometheusSeries(METRICS[id])) await sees(`last_over_time(${series}[10m])`);
    }
    // What they are called by the requirements, spelled as Prometheus does.
    expect(REQUIRED_METRICS.map((id) => METRICS[id].name)).toEqual(REQUIRED_NAMES);

    for (const service of [...control, other]) {
      const text = await (await fetch(`${service.url}/metrics`)).text();
      const complaints = await lint(text);
      // The requirements' own names end so; everything else keeps to Prometheus' rules.
      expect(
        complaints.filter((line) => !/ (?:gauge|counter|non-histogram).*_count|no help/i.test(line)),
      ).toEqual([]);
    }
  }, 240_000);
});

/** Section 33 of the source. */
const REQUIRED_NAMES = [
  'scheduler.admission.accepted.count',
  'scheduler.admission.denied.count',
  'scheduler.queue.depth',
  'scheduler.queue.oldest_ready_age_seconds',
  'scheduler.claim.success.count',
  'scheduler.claim.empty.count',
  'scheduler.lease.active.count',
  'scheduler.lease.expired.count',
  'scheduler.retry.count',
  'scheduler.run.duration_seconds',
  'scheduler.worker.active.count',
  'scheduler.worker.heartbeat.lag_seconds',
  'scheduler.capacity.denied.count',
  'scheduler.cancellation.latency_seconds',
];
