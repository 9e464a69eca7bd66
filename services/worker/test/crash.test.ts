import { join } from 'node:path';
import { formatId } from '@headgate/domain';
import { dueItems, reap } from '@headgate/store';
import type { FailPoint } from '@headgate/telemetry';
import {
  atEnd,
  eventually,
  expireLease,
  followSignals,
  removeDataFolder,
  type SeededRun,
  type SignalFollower,
  type SpawnedService,
  spawnService,
  temporaryDataFolder,
  testDepth,
} from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { createWorker } from '../src/index.js';
import { eventsOf, rowsOf, type Workshop, workshop } from './workshop.js';

/** Every point that a worker passes on the way of one run. */
const ALL: readonly FailPoint[] = [
  'worker.claim.before',
  'worker.claim.committed',
  'worker.workspace.prepared',
  'worker.agent.started',
  'worker.agent.exited',
  'worker.collected',
  'worker.verified',
  'worker.judged',
  'worker.sealed',
  'effects.intended',
  'effects.attempted',
  'effects.called',
  'effects.confirmed',
  'worker.finish.before',
  'worker.finish.committed',
];
/** One of each kind: nothing but the claim, a seal, a call without a report. Whole clusters die at every point. */
const EVERY_DAY: readonly FailPoint[] = ['worker.claim.committed', 'worker.sealed', 'effects.called'];
const POINTS = testDepth() === 'normal' ? EVERY_DAY : ALL;

const RETRY = { maxAttempts: 3, maxInfrastructure: 5, maxLeaseLost: 3, backoffMs: [10] };
const branchOf = (run: SeededRun) => `agent/${formatId('task', run.taskId)}/${formatId('run', run.runId)}`;

interface Victim {
  readonly service: SpawnedService;
  readonly signals: SignalFollower;
}

/** A worker in a process of its own that meets its fate at a fail-point. */
async function victim(shop: Workshop, failPoints: string): Promise<Victim> {
  const folder = temporaryDataFolder();
  atEnd(() => removeDataFolder(folder));
  const signalsFile = join(folder, 'signals.jsonl');
  const service = await spawnService({
    entry: 'services/worker/dist/main.js',
    env: {
      DATABASE_URL_SERVICE: shop.db.urls.serviceUrl,
      HEADGATE_DATA_DIR: folder,
      HEADGATE_PORT: '0',
      HEADGATE_FAILPOINTS: failPoints,
      HEADGATE_SIGNALS_FILE: signalsFile,
      LOG_LEVEL: 'warn',
    },
  });
  return { service, signals: followSignals(signalsFile) };
}

/** Its lease has run out; the run is taken from it and offered again. */
async function takeOver(shop: Workshop, run: SeededRun): Promise<void> {
  await expireLease(shop.db, run.runId);
  await reap(shop.db.service, { limit: 10, graceMs: 1_000, random: () => 0.5, actor: 'test' });
  await eventually(
    async () => {
      await shop.db.service.transaction((c) => dueItems.promote(c, 10));
      const [item] = await rowsOf<{ state: string }>(
        shop,
        'select state from headgate.queue_item where run_id = $1',
        [run.runId],
      );
      return item?.state === 'ready' || item?.state === 'dispatched' || null;
    },
    { what: 'the run is ready again' },
  );
  const [item] = await rowsOf<{ state: string }>(
    shop,
    'select state from headgate.queue_item where run_id = $1',
    [run.runId],
  );
  if (item?.state === 'ready') await shop.dispatch(run);
}

async function successor(shop: Workshop): Promise<void> {
  const worker = await createWorker(shop.context, {
    settleMs: 200,
    timing: { pollMs: 50, retryMs: 50, stageCollectMs: 20 },
  });
  atEnd(() => worker.stop());
  await worker.start();
}

async function expectOnePush(shop: Workshop, run: SeededRun): Promise<void> {
  const pushes = await shop.repository.pushes();
  expect(pushes.map((push) => push.ref)).toEqual([`refs/heads/${branchOf(run)}`]);
  expect(await shop.repository.read(branchOf(run), 'src/sum.js')).toContain('a + b');
}

describe('a worker that is killed', () => {
  it.each(POINTS)(
    'Q4, INV-EF1: by SIGKILL at %s: another one finishes, and one push is made',
    async (point) => {
      const shop = await workshop();
      const run = await shop.offer({ retry: RETRY });
      const { service } = await victim(shop, `${point}=kill`);
      expect((await service.exited).signal).toBe('SIGKILL');

      const { status } = await shop.status(run.runId);
      if (status !== 'SUCCEEDED') {
        await takeOver(shop, run);
        await successor(shop);
        await shop.reaches(run.runId, 'SUCCEEDED', 40_000);
      }
      await expectOnePush(shop, run);
      const seals = await rowsOf<{ runId: string }>(shop, 'select run_id as "runId" from headgate.seal');
      expect(seals).toHaveLength(1);
      const isSealed = ALL.indexOf(point) >= ALL.indexOf('worker.sealed');
      const agents = (await eventsOf(shop, run.runId)).filter((type) => type === 'run.running').length;
      if (isSealed) expect(agents).toBeLessThanOrEqual(1);
    },
    120_000,
  );
});

describe('a worker that is frozen past its lease, and thaws', () => {
  it('INV-LE3: its finish is refused: the run’s end stands as its successor wrote it', async () => {
    const shop = await workshop();
    const run = await shop.offer({ retry: RETRY });
    const { service, signals } = await victim(shop, 'worker.finish.before=stop@1');
    await signals.next('failpoint.reached', () => true, 60_000);
    await takeOver(shop, run);
    await successor(shop);
    await shop.reaches(run.runId, 'SUCCEEDED', 40_000);

    service.sigcont();
    const answer = await signals.next('worker.finished', () => true, 30_000);
    expect(answer.detail).toMatchObject({ kind: 'lost' });
    await expectOnePush(shop, run);
    const attempts = await rowsOf<{ status: string }>(
      shop,
      'select status from headgate.attempt where run_id = $1 order by number',
      [run.runId],
    );
    expect(attempts.map((attempt) => attempt.status)).toEqual(['lost', 'succeeded']);
    await service.sigkill();
  }, 120_000);

  it('INV-EF4: its push is refused by the ledger before it is made', async () => {
    const shop = await workshop();
    const run = await shop.offer({ retry: RETRY });
    const { service, signals } = await victim(shop, 'effects.intended=stop@1');
    await signals.next('failpoint.reached', () => true, 60_000);
    await takeOver(shop, run);
    await successor(shop);
    await shop.reaches(run.runId, 'SUCCEEDED', 40_000);

    service.sigcont();
    await signals.next('worker.dropped', () => true, 30_000);
    expect(signals.all().some((signal) => signal.name === 'effects.push.calling')).toBe(false);
    await expectOnePush(shop, run);
    await service.sigkill();
  }, 120_000);

  it('INV-EF4: the one call that was in flight has no second visible effect', async () => {
    const shop = await workshop();
    const run = await shop.offer({ retry: RETRY });
    const { service, signals } = await victim(shop, 'effects.attempted=stop@1');
    await signals.next('failpoint.reached', () => true, 60_000);
    await takeOver(shop, run);
    await successor(shop);
    await shop.reaches(run.runId, 'SUCCEEDED', 40_000);

    service.sigcont();
    await signals.next('worker.dropped', () => true, 30_000);
    await expectOnePush(shop, run);
    await service.sigkill();
  }, 120_000);
});
