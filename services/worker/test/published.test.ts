/** What becomes of a result once a person has let it be published, and whatever dies on the way. */
import { formatId } from '@headgate/domain';
import { approvals, dueItems, policies, reap } from '@headgate/store';
import type { FailPoint } from '@headgate/telemetry';
import {
  aRoute,
  atEnd,
  eventually,
  expireLease,
  removeDataFolder,
  type SeededRun,
  say,
  spawnService,
  temporaryDataFolder,
  testDepth,
} from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { eventsOf, rowsOf, type Workshop, workshop } from './workshop.js';

const proposing = { routes: [aRoute({ verify: [], mode: 'propose' })] };
const RETRY = { maxAttempts: 3, maxInfrastructure: 5, maxLeaseLost: 3, backoffMs: [10] };
const branchOf = (run: SeededRun) => `agent/${formatId('task', run.taskId)}/${formatId('run', run.runId)}`;
const requestsOf = (shop: Workshop, run: SeededRun) =>
  rowsOf<{ outcome: string | null; policyVersion: number }>(
    shop,
    'select outcome, policy_version as "policyVersion" from headgate.approval where run_id = $1 order by id',
    [run.runId],
  );

/** A run whose result is sealed and waits for a person, and no worker any more. */
async function proposed(shop: Workshop): Promise<SeededRun> {
  const worker = await shop.worker();
  const run = await shop.offer({ mode: 'propose', retry: RETRY });
  await shop.reaches(run.runId, 'WAITING_APPROVAL');
  await worker.stop();
  return run;
}

async function publish(shop: Workshop, run: SeededRun): Promise<void> {
  expect(await say(shop.db, run, 'publish')).toMatchObject({ answer: { kind: 'taken' } });
  await shop.dispatch(run);
}

describe('a proposal that a person publishes', () => {
  it('is asked about as exactly as it is then pushed: the same branch, the same commit, and no second agent', async () => {
    const shop = await workshop({ policy: proposing });
    const run = await proposed(shop);
    const request = await shop.db.service.use((c) => approvals.of(c, run.runId));
    expect(request?.operations).toMatchObject([
      { kind: 'push', repository: 'acme/api', ref: `refs/heads/${branchOf(run)}`, expectedOldSha: null },
    ]);
    await publish(shop, run);
    await shop.worker();
    await shop.reaches(run.runId, 'SUCCEEDED');
    const [push, ...more] = await shop.repository.pushes();
    expect(more).toEqual([]);
    expect({ ref: push?.ref, commitSha: push?.after }).toEqual({
      ref: request?.operations[0]?.ref,
      commitSha: request?.operations[0]?.commitSha,
    });
    expect((await eventsOf(shop, run.runId)).filter((type) => type === 'run.running')).toHaveLength(1);
  });

  it('Q7: under another policy than it was approved under it pushes nothing, and asks again', async () => {
    const shop = await workshop({ policy: proposing });
    const run = await proposed(shop);
    expect(await say(shop.db, run, 'publish')).toMatchObject({ status: 'QUEUED' });
    await policies.activate(shop.db.service, { ...shop.policy, digest: 'another' }, 'somebody');
    await shop.context.policy.refresh();
    await shop.dispatch(run);
    await shop.worker();
    await eventually(async () => ((await requestsOf(shop, run)).length === 2 ? true : null), {
      what: 'a person is asked again',
    });
    await shop.reaches(run.runId, 'WAITING_APPROVAL');
    expect(await shop.repository.pushes()).toEqual([]);
    expect((await shop.status(run.runId)).detail).toContain('The policy has changed since');
    expect((await requestsOf(shop, run)).map((one) => one.outcome)).toEqual(['approved', null]);
    expect((await requestsOf(shop, run))[1]?.policyVersion).toBeGreaterThan(shop.tenant.policyVersion);

    await publish(shop, run);
    await shop.reaches(run.runId, 'SUCCEEDED');
    expect(await shop.repository.pushes()).toHaveLength(1);
  });

  it('INV-EF5: a branch that somebody made meanwhile is left alone: FAILED with SOURCE_MOVED', async () => {
    const shop = await workshop({ policy: proposing });
    const run = await proposed(shop);
    await publish(shop, run);
    const theirs = await shop.repository.commit({ branch: branchOf(run), files: { 'theirs.txt': 'mine\n' } });
    await shop.worker();
    await shop.reaches(run.runId, 'FAILED');
    expect(await shop.status(run.runId)).toMatchObject({ reasonCode: 'SOURCE_MOVED' });
    expect(await shop.repository.head(branchOf(run))).toBe(theirs);
  });

  it('a base that moved is no obstacle: the branch carries the commit that was approved, on the base it was made for', async () => {
    const shop = await workshop({ policy: proposing });
    const run = await proposed(shop);
    await shop.repository.commit({ files: { 'README.md': 'Another revision.\n' } });
    await publish(shop, run);
    await shop.worker();
    await shop.reaches(run.runId, 'SUCCEEDED');
    const [commit] = await shop.repository.history(branchOf(run));
    expect(commit?.parents).toEqual([shop.headSha]);
  });
});

/** From the claim of the publishing attempt to its end. */
const ALL: readonly FailPoint[] = [
  'worker.claim.committed',
  'effects.intended',
  'effects.attempted',
  'effects.called',
  'effects.confirmed',
  'worker.finish.before',
  'worker.finish.committed',
];
/** Before the intent, between intent and call, after a call without a report. */
const EVERY_DAY: readonly FailPoint[] = ['worker.claim.committed', 'effects.intended', 'effects.called'];

describe('the worker that publishes is killed', () => {
  it.each(testDepth() === 'normal' ? EVERY_DAY : ALL)(
    'INV-EF1: by SIGKILL at %s: another one finishes, one push is made, and nobody is asked again',
    async (point) => {
      const shop = await workshop({ policy: proposing });
      const run = await proposed(shop);
      await publish(shop, run);
      const folder = temporaryDataFolder();
      atEnd(() => removeDataFolder(folder));
      const victim = await spawnService({
        entry: 'services/worker/dist/main.js',
        env: {
          DATABASE_URL_SERVICE: shop.db.urls.serviceUrl,
          HEADGATE_DATA_DIR: folder,
          HEADGATE_PORT: '0',
          HEADGATE_FAILPOINTS: `${point}=kill`,
          LOG_LEVEL: 'warn',
        },
      });
      expect((await victim.exited).signal).toBe('SIGKILL');

      if ((await shop.status(run.runId)).status !== 'SUCCEEDED') {
        await takeFrom(shop, run);
        await shop.worker();
        await shop.reaches(run.runId, 'SUCCEEDED', 40_000);
      }
      expect((await shop.repository.pushes()).map((push) => push.ref)).toEqual([
        `refs/heads/${branchOf(run)}`,
      ]);
      expect((await requestsOf(shop, run)).map((one) => one.outcome)).toEqual(['approved']);
      expect((await eventsOf(shop, run.runId)).filter((type) => type === 'run.running')).toHaveLength(1);
    },
    120_000,
  );
});

/** Its lease has run out; the run is taken from it and offered again. */
async function takeFrom(shop: Workshop, run: SeededRun): Promise<void> {
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
      return item?.state === 'ready' || null;
    },
    { what: 'the run is ready again' },
  );
  await shop.dispatch(run);
}
