/** One trace from a webhook to the tool call, as a collector of our own receives it from real processes (Q32). */
import { describeWithTool, eventually, testRedis } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { type Deployed, type Deployment, deployment } from './deployment.js';
import { type OtlpReceiver, otlpReceiver, type Span } from './otlp-receiver.js';

const TEST_MS = 180_000;

interface Observed {
  readonly spans: readonly Span[];
  readonly runId: string;
  readonly head: string;
  readonly processes: Readonly<Record<'intake' | 'scheduler' | 'worker', Deployed>>;
}

/** Starts three services, sends one failed check, waits for its run, and stops them so that all spans are out. */
async function observe(env: Readonly<Record<string, string>>): Promise<Observed & { deployed: Deployment }> {
  const receiver = await otlpReceiver();
  const deployed = await deployment({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...env } });
  const [intake, scheduler, worker] = await Promise.all([
    deployed.start('intake'),
    deployed.start('scheduler'),
    deployed.start('worker'),
  ]);
  const processes = { intake, scheduler, worker };
  const head = await deployed.defect();
  const { runId } = await deployed.fail(intake, head);
  await deployed.reaches(runId, 'SUCCEEDED');
  await Promise.all(Object.values(processes).map(({ process }) => process.terminate()));
  return { spans: await all(receiver), runId, head, processes, deployed };
}

/** The services flush as they stop: the worker's span of the attempt comes last. */
async function all(receiver: OtlpReceiver): Promise<readonly Span[]> {
  await eventually(() => receiver.spans().some(({ name }) => name === 'RUN fix') || null, {
    what: 'the span of the attempt arrives',
  });
  return receiver.spans();
}

const only = (spans: readonly Span[], name: string): Span => {
  const found = spans.filter((span) => span.name === name);
  if (found.length !== 1 || found[0] === undefined) {
    throw new Error(`${found.length} spans are called ${name}: ${spans.map((span) => span.name).join(', ')}`);
  }
  return found[0];
};

/** From the span up to its root. */
function wayUp(spans: readonly Span[], from: Span): readonly string[] {
  const names = [from.name];
  for (let at = from; at.parentSpanId !== null; ) {
    const parent = spans.find(({ spanId, traceId }) => spanId === at.parentSpanId && traceId === at.traceId);
    if (parent === undefined) throw new Error(`${at.name} has a parent that nobody exported`);
    names.push(parent.name);
    at = parent;
  }
  return names;
}

function expectWholeChain({ spans, runId, head, processes }: Observed): void {
  const webhook = only(spans, 'POST /webhooks/:source');
  const tool = only(spans, 'execute_tool fix_marked_defects');
  expect(wayUp(spans, tool)).toEqual([
    'execute_tool fix_marked_defects',
    'invoke_agent fixer',
    'sandbox agent',
    'agent',
    'RUN fix',
    'intake.webhook',
    // Express's own.
    'request handler',
    'POST /webhooks/:source',
  ]);
  expect(tool.traceId).toBe(webhook.traceId);

  expect(webhook).toMatchObject({
    service: 'headgate-intake',
    pid: processes.intake.process.pid,
    kind: 'SERVER',
    attributes: { 'http.route': '/webhooks/:source' },
  });
  expect(only(spans, 'intake.webhook')).toMatchObject({
    kind: 'INTERNAL',
    attributes: {
      'headgate.run.id': runId,
      'headgate.outcome': 'accept',
      'headgate.reason_code': 'ADMITTED',
    },
  });
  const run = only(spans, 'RUN fix');
  expect(run).toMatchObject({
    service: 'headgate-worker',
    pid: processes.worker.process.pid,
    kind: 'SERVER',
    isError: false,
    links: [],
    attributes: {
      'cicd.pipeline.name': 'fix',
      'cicd.pipeline.run.id': runId,
      'cicd.pipeline.result': 'success',
      'cicd.worker.id': expect.stringMatching(/^wkr_/),
      'vcs.repository.name': 'acme/api',
      'vcs.repository.url.full': expect.stringContaining('/'),
      'vcs.ref.head.revision': head,
      'vcs.ref.head.name': 'topic',
      'headgate.tenant': 'default',
      'headgate.task.id': expect.stringMatching(/^task_/),
      'headgate.attempt.number': 1,
      'headgate.lease.id': expect.stringMatching(/^lease_/),
      'headgate.lease.fencing_token': expect.anything(),
      'headgate.run.status': 'SUCCEEDED',
    },
  });
  for (const stage of ['prepare', 'agent', 'judge', 'finalize']) {
    expect(only(spans, stage)).toMatchObject({
      parentSpanId: run.spanId,
      kind: 'INTERNAL',
      attributes: {
        'cicd.pipeline.task.name': stage,
        'cicd.pipeline.task.run.id': expect.stringMatching(/^att_/),
      },
    });
  }
  expect(only(spans, 'sandbox agent').attributes).toMatchObject({
    'headgate.sandbox.id': expect.any(String),
    'headgate.sandbox.kind': expect.any(String),
  });
  expect(only(spans, 'invoke_agent fixer').attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'fixer',
    'headgate.outcome': 'exited',
  });
  expect(tool.attributes).toMatchObject({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'fix_marked_defects',
    'gen_ai.tool.call.id': '1',
  });
  // Nothing of the self-test, of polling or of health checks.
  expect(spans.filter(({ name }) => /self-test|healthz|readyz|metrics/.test(name))).toEqual([]);
}

/** Lines of JSON about the run, by the process that wrote them. */
const linesAbout = (deployed: Deployed, runId: string): readonly Record<string, unknown>[] =>
  deployed.process
    .stderr()
    .split('\n')
    .filter((line) => line.includes(runId))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describeWithTool('redis', 'a run that came by a hint', () => {
  it(
    'Q32: one trace leads from the webhook through row and hint to the tool call; the hint links to it',
    async () => {
      const redis = await testRedis();
      const observed = await observe({ REDIS_URL: redis.url });
      expectWholeChain(observed);
      const { spans, runId } = observed;
      const webhook = only(spans, 'intake.webhook');
      const hint = {
        links: [{ traceId: webhook.traceId, spanId: webhook.spanId }],
        attributes: {
          'messaging.system': 'bullmq',
          'messaging.destination.name': 'default',
          'messaging.message.id': `${runId}-1`,
        },
      };
      const sent = spans.filter(({ name }) => name === 'send default');
      expect(sent[0]).toMatchObject({ ...hint, kind: 'PRODUCER' });
      expect(['headgate-intake', 'headgate-scheduler']).toContain(sent[0]?.service);
      const processed = spans.filter(({ name }) => name === 'process default');
      expect(processed[0]).toMatchObject({ ...hint, kind: 'CONSUMER', service: 'headgate-worker' });
      expect(processed[0]?.traceId).not.toBe(webhook.traceId);
    },
    TEST_MS,
  );
});

describe('without Redis', () => {
  it(
    'Q32: the same trace comes by the row alone; every log line about the run names its whole identity',
    async () => {
      const observed = await observe({ HEADGATE_NO_REDIS: '1' });
      expectWholeChain(observed);
      const { spans, runId, processes } = observed;
      expect(spans.filter(({ name }) => /^(send|process) /.test(name))).toEqual([]);

      // A process that has ended may have said more than has come through its pipe.
      await eventually(() => linesAbout(processes.worker, runId).some(({ msg }) => msg === 'attempt ended'), {
        what: 'the last line of the worker',
      });
      const lines = linesAbout(processes.worker, runId);
      const webhook = only(spans, 'intake.webhook');
      const run = only(spans, 'RUN fix');
      expect(lines.map((line) => line['msg'])).toEqual(
        expect.arrayContaining(['attempt begins', 'the agent has ended', 'attempt ended']),
      );
      for (const line of lines) {
        expect(line, String(line['msg'])).toMatchObject({
          tenant: 'default',
          workKey: expect.stringContaining('42'),
          runId,
          attempt: 1,
          leaseId: run.attributes['headgate.lease.id'],
          workerId: run.attributes['cicd.worker.id'],
          traceId: webhook.traceId,
          trace_id: run.traceId,
        });
      }
    },
    TEST_MS,
  );

  it(
    'Q32: an attempt that comes later has a trace of its own, with a link to what admitted the run',
    async () => {
      const receiver = await otlpReceiver();
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, HEADGATE_NO_REDIS: '1' };
      const deployed = await deployment({ env, agentEnv: { HEADGATE_EXAMPLE_MODE: 'fail' } });
      const [intake, worker, scheduler] = await Promise.all([
        deployed.start('intake'),
        deployed.start('worker'),
        deployed.start('scheduler'),
      ]);
      const { runId } = await deployed.fail(intake, await deployed.defect());
      await deployed.reaches(runId, 'FAILED');
      await Promise.all([intake, worker, scheduler].map(({ process }) => process.terminate()));
      await eventually(() => receiver.spans().filter(({ name }) => name === 'RUN fix').length === 2 || null, {
        what: 'both attempts have their spans',
      });
      const spans = receiver.spans();
      const webhook = only(spans, 'intake.webhook');
      const attempts = spans.filter(({ name }) => name === 'RUN fix');
      const [first, second] = [1, 2].map((number) =>
        attempts.find(({ attributes }) => attributes['headgate.attempt.number'] === number),
      );
      expect(first).toMatchObject({
        traceId: webhook.traceId,
        parentSpanId: webhook.spanId,
        attributes: {
          'cicd.pipeline.result': 'error',
          'headgate.reason_code': 'AGENT_FAILED',
          'error.type': 'AGENT_FAILED',
        },
      });
      expect(second).toMatchObject({
        parentSpanId: null,
        links: [{ traceId: webhook.traceId, spanId: webhook.spanId }],
        attributes: { 'cicd.pipeline.result': 'failure', 'headgate.run.status': 'FAILED' },
      });
      expect(second?.traceId).not.toBe(webhook.traceId);
    },
    TEST_MS,
  );
});
