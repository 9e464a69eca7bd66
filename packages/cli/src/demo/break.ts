/**
 * "Break everything": the same event twenty times at once, a worker killed with SIGKILL while it works, Redis emptied.
 * It ends in one run, one branch and twenty receipts, each counted by asking: the API for runs and receipts, git for
 * branches. Nothing is believed.
 *
 * The worker that dies is a process of its own, for a queue that no other worker serves. When the demo is interrupted
 * or killed its workers end with it, and the next demo takes over what they held once their leases have run out.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '@headgate/domain';
import { emptyPrivateRedis } from '@headgate/embedded';
import type { Client, RunDetail } from '@headgate/sdk';
import { findSample, type Sample, type SampleSubject, sampleDelivery } from '@headgate/sources';
import { createLogger } from '@headgate/telemetry';
import { createHintBus } from '@headgate/transport';
import { EXAMPLE_SOURCE, exampleRepositoryPath, exampleSubject } from '../example.js';
import { CommandEnd, EXIT } from '../exit.js';
import type { Connections } from '../instance/connections.js';
import type { FoundInstance } from '../instance/find.js';
import { isOver, waitForRun } from '../instance/wait-for-run.js';
import { deliver, isSigned } from '../send/deliver.js';
import type { Terminal } from '../terminal/terminal.js';
import { count, duration } from '../terminal/words.js';
import { countEverything, type Found, isAsPromised } from './count.js';
import { StepPage } from './page.js';
import { startWorkerProcess, type WorkerProcess } from './worker-process.js';

/** What the example configuration calls them. */
const BRANCH = 'demo-break';
const QUEUE = 'demo';
const OFFER = 'demo=true';
const ROUTE = 'demo-break';
const SAMPLE = 'workflow_run.completed';

export const DELIVERIES = 20;
/** Into its work before the worker is killed: seen, not guessed. */
const INTO_WORK_MS = 1_000;
const LOOK_EVERY_MS = 200;
/** The whole of it takes about half a minute; a busy machine may need longer. */
const GIVE_UP_MS = 180_000;

const STEPS = [
  'a change with a defect, on a branch of its own',
  'a worker process of its own',
  `the same event, ${DELIVERIES} times at once`,
  'the worker is at work',
  'SIGKILL to that worker',
  'another worker process',
  'Redis emptied',
  'the lease runs out, the run is taken over',
  'the run ends',
] as const;
const COMMIT = 0;
const WORKER = 1;
const SEND = 2;
const WORK = 3;
const KILL = 4;
const SECOND = 5;
const FLUSH = 6;
const TAKEOVER = 7;
const END = 8;

export interface BreakOptions {
  readonly instance: FoundInstance;
  readonly client: Client;
  readonly connections: Connections;
  readonly env: NodeJS.ProcessEnv;
  readonly terminal: Terminal;
  readonly now: () => Date;
  /** Workers that are to be ended, whatever happens. */
  readonly workers: Set<WorkerProcess>;
}

export interface BreakResult {
  readonly ok: boolean;
  readonly deliveries: number;
  readonly found: Found;
  readonly tookMs: number;
  readonly run: RunDetail;
}

export async function breakEverything(options: BreakOptions): Promise<BreakResult> {
  const { instance, client, terminal, now } = options;
  const startedAtMs = performance.now();
  const deliveryId = randomUUID();
  terminal.out(`Watch it: ${instance.url}/demo/${deliveryId}`);
  const page = new StepPage(
    terminal,
    `Break everything: ${DELIVERIES} duplicates, a killed worker, an emptied Redis`,
    STEPS,
  );
  page.set(COMMIT, 'active');
  const subject = await exampleSubject(instance.settings, { branch: BRANCH, isFresh: true, now: now() });
  page.set(COMMIT, 'done', `${BRANCH} at ${subject.headSha.slice(0, 12)}`);

  page.set(WORKER, 'active', 'starting');
  const first = start('demo-worker-1', options);
  await untilItServes(first, client);
  page.set(WORKER, 'done', `process ${first.pid}, queue ${QUEUE}`);

  page.set(SEND, 'active');
  const runId = await sendDuplicates(deliveryId, subject, options, page);

  page.set(WORK, 'active', 'waiting to be claimed');
  const before = await untilAtWork(runId, client, page);
  page.set(WORK, 'done', `attempt ${before.attempt}, fencing token ${tokenOf(before)}`);

  page.set(KILL, 'active');
  await first.kill();
  const killedAtMs = performance.now();
  options.workers.delete(first);
  page.set(KILL, 'done', `process ${first.pid} is gone; it said goodbye to nobody`);

  // It starts while the dead worker's lease still stands: there is time to lose Redis meanwhile.
  page.set(SECOND, 'active', 'starting');
  page.set(TAKEOVER, 'active', 'the dead worker’s lease still stands');
  const second = start('demo-worker-2', options);
  const serves = untilItServes(second, client).then(() => page.set(SECOND, 'done', `process ${second.pid}`));
  page.set(FLUSH, 'active');
  const [run] = await Promise.all([
    untilEnded({ runId, before, killedAtMs, client, page }),
    serves,
    emptyRedis(options, page),
  ]);
  await second.stop();
  options.workers.delete(second);

  const found = await countEverything({
    client,
    deliveryId,
    runId,
    repositoryPath: exampleRepositoryPath(instance.settings.dataDir),
    headSha: subject.headSha,
  });
  return {
    ok: run.publicStatus === 'succeeded' && isAsPromised(found, DELIVERIES),
    deliveries: DELIVERIES,
    found,
    tookMs: Math.round(performance.now() - startedAtMs),
    run,
  };
}

function start(name: string, { instance, connections, env, workers }: BreakOptions): WorkerProcess {
  const worker = startWorkerProcess({
    name,
    queue: QUEUE,
    offer: OFFER,
    settings: instance.settings,
    connections,
    env,
  });
  workers.add(worker);
  return worker;
}

/** Until the instance sees the worker live, in its queue. */
async function untilItServes(worker: WorkerProcess, client: Client): Promise<void> {
  await until(`${worker.name} is ready`, async () => {
    if (worker.hasExited()) {
      throw new CommandEnd(
        EXIT.negative,
        `${worker.name} ended by itself.`,
        `See logs/${worker.name}.log in the data folder.`,
      );
    }
    const { items } = await client.workers.page({ state: 'READY', limit: 200 });
    return items.some((it) => it.pid === worker.pid && it.isLive && it.queues.includes(QUEUE)) || null;
  });
}

async function sendDuplicates(
  deliveryId: string,
  subject: SampleSubject,
  { instance }: BreakOptions,
  page: StepPage,
): Promise<string> {
  const delivery = sampleDelivery({
    sample: named(SAMPLE, ROUTE),
    subject,
    sourceId: EXAMPLE_SOURCE,
    secret: instance.settings.exampleWebhookSecret,
    deliveryId,
  });
  const answers = (await deliver(instance.url, delivery, DELIVERIES))
    .filter(isSigned)
    .map(({ answer }) => answer);
  const admitted = answers.find(({ reasonCode }) => reasonCode === 'ADMITTED');
  if (admitted?.runId == null || answers.length !== DELIVERIES) {
    page.set(SEND, 'failed', `${answers.length} answers, ${answers[0]?.reasonCode ?? 'none'}`);
    throw new CommandEnd(
      EXIT.negative,
      `The deliveries led to no new run: ${answers[0]?.reasonCode ?? 'they were refused'}.`,
      'The demo needs the example configuration: its route demo-break and its source example-github.',
    );
  }
  const duplicates = answers.filter(({ reasonCode }) => reasonCode === 'DUPLICATE_DELIVERY').length;
  page.set(SEND, 'done', `${answers.length} receipts: 1 ADMITTED, ${duplicates} DUPLICATE_DELIVERY`);
  return admitted.runId;
}

/** The sample, of a workflow that carries the route's name. */
function named(spec: string, name: string): Sample {
  const found = findSample(spec);
  if (found.kind === 'unknown') throw new Error(found.detail);
  const run = found.sample.payload['workflow_run'];
  if (typeof run !== 'object' || run === null) throw new Error(`${spec} holds no workflow_run`);
  return {
    ...found.sample,
    payload: { ...found.sample.payload, workflow_run: { ...run, name, pull_requests: [] } },
  };
}

async function untilAtWork(runId: string, client: Client, page: StepPage): Promise<RunDetail> {
  return until('the worker is at work', async () => {
    const run = await client.runs.get(runId);
    if (isOver(run)) {
      throw new CommandEnd(
        EXIT.negative,
        `${runId} ended before the worker could be killed.`,
        'Run the demo again.',
      );
    }
    if (run.publicStatus !== 'running') {
      page.set(WORK, 'active', run.waiting?.reasonCode ?? run.status);
      return null;
    }
    page.set(WORK, 'active', run.status.toLowerCase().replaceAll('_', ' '));
    const sinceMs = run.startedAt === null ? 0 : Date.now() - Date.parse(run.startedAt);
    return run.status !== 'CLAIMED' && sinceMs > INTO_WORK_MS ? run : null;
  });
}

async function emptyRedis({ connections }: BreakOptions, page: StepPage): Promise<void> {
  const { redisUrl, redisIsPrivate } = connections;
  if (redisUrl === null) {
    page.set(FLUSH, 'skipped', 'the instance runs without one');
    return;
  }
  if (redisIsPrivate) {
    await emptyPrivateRedis(redisUrl);
    page.set(FLUSH, 'done', 'FLUSHALL');
    return;
  }
  const logger = createLogger('demo', { level: 'silent' });
  const bus = createHintBus({ url: redisUrl, logger, clock: systemClock });
  try {
    const answer = await bus.flushOwnKeys();
    if (answer.ok)
      page.set(FLUSH, 'done', `${count(answer.value, 'key')} of ours; others may use this Redis`);
    else page.set(FLUSH, 'failed', answer.message);
  } finally {
    await bus.close({ graceMs: 100 });
  }
}

async function untilEnded(watch: {
  readonly runId: string;
  /** As it stood when its worker was killed. */
  readonly before: RunDetail;
  readonly killedAtMs: number;
  readonly client: Client;
  readonly page: StepPage;
}): Promise<RunDetail> {
  const { runId, before, killedAtMs, client, page } = watch;
  let isTaken = false;
  const onChange = (run: RunDetail): void => {
    if (!isTaken && run.attempt > before.attempt) {
      isTaken = true;
      const after = duration(performance.now() - killedAtMs);
      page.set(TAKEOVER, 'done', `after ${after}: attempt ${run.attempt}, fencing token ${tokenOf(run)}`);
    }
    if (isTaken) page.set(END, 'active', run.status.toLowerCase().replaceAll('_', ' '));
    else page.set(TAKEOVER, 'active', run.waiting?.reasonCode ?? 'the dead worker’s lease still stands');
  };
  const run = await waitForRun({ client, runId, timeoutMs: GIVE_UP_MS, onChange });
  onChange(run);
  if (run.publicStatus === 'succeeded') page.set(END, 'done', `succeeded, pushed ${run.branch ?? 'nothing'}`);
  else page.set(END, 'failed', `${run.status} ${run.reasonCode ?? ''}`);
  return run;
}

const tokenOf = (run: RunDetail): string => run.attempts.at(-1)?.fencingToken ?? 'none';

/** Asks again until there is an answer that is not null. */
async function until<T>(what: string, ask: () => Promise<T | null>): Promise<T> {
  const giveUpAtMs = performance.now() + GIVE_UP_MS;
  while (performance.now() < giveUpAtMs) {
    const answer = await ask();
    if (answer !== null) return answer;
    await delay(LOOK_EVERY_MS);
  }
  throw new CommandEnd(EXIT.timedOut, `Waited ${duration(GIVE_UP_MS)} for this: ${what}.`);
}
