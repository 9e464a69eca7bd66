/** A console in which the other tenant has a row of every kind, each with something that must not be told. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatId, type ScheduleId, type ScheduleRequestId, systemIds } from '@headgate/domain';
import { artifacts, requestTicks, schedules } from '@headgate/store';
import { claimRun, finishRun, type RunInStatus, runInStatus } from '@headgate/testkit';
import { aConsole, type TestConsole } from './a-console.js';
import { foreignRun } from './seeds.js';

export interface IsolatedConsole {
  readonly test: TestConsole;
  readonly foreign: RunInStatus;
  readonly scheduleId: ScheduleId;
  readonly requestId: ScheduleRequestId;
  /** That answer the other tenant with 200. */
  readonly paths: readonly string[];
  readonly secrets: readonly string[];
}

export async function isolatedConsole(): Promise<IsolatedConsole> {
  const test = await aConsole();
  const foreign = await foreignRun(test);
  const lease = await claimRun(test.store, foreign);
  const run = formatId('run', foreign.runId);
  const path = join('run', '1', 'secret.log');
  await mkdir(join(test.context.paths.artifacts, 'run', '1'), { recursive: true });
  await writeFile(join(test.context.paths.artifacts, path), 'secret content');
  await test.store.service.use((c) =>
    artifacts.insert(c, { fence: lease.fence, tenantId: test.other.id, attemptNo: 1 }, [
      { name: 'secret.log', path, bytes: 14, sha256: Buffer.alloc(32, 1), mediaType: 'text/plain' },
    ]),
  );
  await finishRun(test.store, lease, {
    kind: 'failed',
    reasonCode: 'AGENT_FAILED',
    detail: 'secret detail',
    retryAfterMs: null,
  });
  const dead = await runInStatus(test.store, 'FAILED', { tenant: test.other, workKey: 'secret/dead' });
  await test.store.service.use((c) =>
    c.query(
      `insert into headgate.dead_letter (id, tenant_id, run_id, reason_code, evidence)
       values (headgate.uuid7(), $1, $2, 'SETUP_FAILED', '{"secret": true}')
       on conflict (run_id) do update set evidence = excluded.evidence`,
      [test.other.id, dead.runId],
    ),
  );
  const scheduleId = systemIds.next('sch');
  const requestId = systemIds.next('sreq');
  await test.store.service.use((c) =>
    schedules.ensure(c, {
      id: scheduleId,
      tenantId: test.other.id,
      route: 'secret-schedule',
      ordinal: 0,
      spec: {
        kind: 'schedule',
        ordinal: 0,
        cron: '@hourly',
        timezone: 'UTC',
        startAt: null,
        endAt: null,
        exclude: [],
        jitterMs: 0,
        pauseOnFailure: false,
        overlap: 'skip',
        catchUp: { mode: 'none', windowMs: 0, max: 1 },
      },
      policyVersion: test.other.policyVersion,
      nextAt: null,
    }),
  );
  const asked = {
    id: requestId,
    kind: 'trigger',
    overlap: null,
    span: null,
    reason: 'secret reason',
  } as const;
  await requestTicks(test.store.service, scheduleId, asked, { actor: 'test' });
  const paths = [
    '/v1/runs',
    `/v1/runs/${run}`,
    `/v1/runs/${run}/artifacts`,
    `/v1/runs/${run}/artifacts/secret.log`,
    '/v1/tasks',
    `/v1/tasks/${formatId('task', foreign.taskId)}`,
    '/v1/receipts',
    '/v1/receipts?kind=closing',
    `/v1/receipts/${formatId('rcpt', foreign.receiptId)}`,
    '/v1/workers',
    '/v1/schedules',
    `/v1/schedules/${formatId('sch', scheduleId)}`,
    `/v1/schedules/${formatId('sch', scheduleId)}/requests/${formatId('sreq', requestId)}`,
    '/v1/queues',
    '/v1/dead-letters',
    `/v1/explain?ref=${run}`,
    `/v1/explain?ref=${encodeURIComponent(foreign.workKey)}`,
    `/v1/explain?ref=other/secret`,
    `/v1/explain?ref=${foreign.inputVersion}`,
    `/v1/explain?ref=nothing-like-that`,
  ];
  const secrets = [
    'secret content',
    'secret detail',
    'others-source',
    'secret-schedule',
    'secret reason',
    'secret/dead',
    '"secret":true',
  ];
  return { test, foreign, scheduleId, requestId, paths, secrets };
}
