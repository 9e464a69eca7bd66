/** A console in which the other tenant has a row of every kind, each with something that must not be told. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatId, type GoalId, type ScheduleId, type ScheduleRequestId, systemIds } from '@headgate/domain';
import { artifacts, goals, observations, requestTicks, schedules, seals } from '@headgate/store';
import { claimRun, finishRun, type RunInStatus, runInStatus } from '@headgate/testkit';
import { aConsole, type TestConsole } from './a-console.js';
import { foreignRun } from './seeds.js';

export interface IsolatedConsole {
  readonly test: TestConsole;
  readonly foreign: RunInStatus;
  readonly scheduleId: ScheduleId;
  readonly requestId: ScheduleRequestId;
  readonly goalId: GoalId;
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
  await mkdir(join(test.context.paths.artifacts, run, '1'), { recursive: true });
  await writeFile(join(test.context.paths.artifacts, run, '1', 'agent.log'), 'secret log\n');
  await test.store.service.use((c) =>
    artifacts.insert(c, { fence: lease.fence, tenantId: test.other.id, attemptNo: 1 }, [
      { name: 'secret.log', path, bytes: 14, sha256: Buffer.alloc(32, 1), mediaType: 'text/plain' },
    ]),
  );
  await seals.put(
    test.store.service,
    lease.fence,
    lease.attemptId,
    {
      verdict: 'no-change',
      baseVersion: 'a'.repeat(40),
      commitSha: null,
      verification: null,
      summary: 'secret summary',
      bundle: Buffer.alloc(0),
    },
    null,
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
  const goalId = systemIds.next('goal');
  await test.store.service.use(async (c) => {
    await goals.ensure(c, {
      id: goalId,
      tenantId: test.other.id,
      route: 'secret-goal',
      ordinal: 0,
      target: '42',
      repository: 'other/secret',
      spec: {
        kind: 'goal',
        ordinal: 0,
        observe: { kind: 'command', command: 'true', timeoutMs: 1_000 },
        until: { source: 'observation.exitCode == 0' },
        cadence: '@every 10m',
        timezone: 'UTC',
        stop: { maxRuns: 1, deadlineMs: 1_000, noProgress: 1, maxCostUsd: null },
      },
      policyVersion: test.other.policyVersion,
    });
    await observations.insert(c, {
      id: systemIds.next('obs'),
      goalId,
      tenantId: test.other.id,
      epoch: 1,
      number: 1,
      runId: foreign.runId,
      outcome: 'open',
      ref: 'main',
      version: null,
      result: { output: 'secret output' },
      detail: null,
      fingerprint: null,
      receiptId: null,
    });
  });
  const paths = [
    '/v1/runs',
    `/v1/runs/${run}`,
    `/v1/runs/${run}/artifacts`,
    `/v1/runs/${run}/artifacts/secret.log`,
    `/v1/runs/${run}/result`,
    `/v1/runs/${run}/logs`,
    `/v1/runs/${run}/logs/agent.log?attempt=1`,
    `/v1/runs/${run}/logs/agent.log/matches?attempt=1&text=secret`,
    `/v1/runs?ids=${run}`,
    '/v1/runs?waitingReason=NO_CAPABLE_WORKER',
    '/v1/runs?tenant=other',
    '/v1/caller',
    '/v1/overview',
    '/v1/facets',
    '/v1/tasks',
    `/v1/tasks/${formatId('task', foreign.taskId)}`,
    '/v1/receipts',
    '/v1/receipts?kind=closing',
    `/v1/receipts/${formatId('rcpt', foreign.receiptId)}`,
    '/v1/workers',
    '/v1/schedules',
    `/v1/schedules/${formatId('sch', scheduleId)}`,
    `/v1/schedules/${formatId('sch', scheduleId)}/requests/${formatId('sreq', requestId)}`,
    '/v1/goals',
    `/v1/goals/${formatId('goal', goalId)}`,
    '/v1/queues',
    '/v1/sources',
    '/v1/dead-letters',
    '/v1/approvals',
    `/v1/explain?ref=${run}`,
    `/v1/explain?ref=${encodeURIComponent(foreign.workKey)}`,
    `/v1/explain?ref=other/secret`,
    `/v1/explain?ref=${foreign.inputVersion}`,
    `/v1/explain?ref=nothing-like-that`,
  ];
  const secrets = [
    'secret content',
    'secret log',
    'secret summary',
    'secret detail',
    'others-source',
    'secret-schedule',
    'secret reason',
    'secret-goal',
    'secret output',
    'secret/dead',
    '"secret":true',
  ];
  return { test, foreign, scheduleId, requestId, goalId, paths, secrets };
}
