/**
 * Any interleaving of deliveries, redeliveries, scans, ticks, cancels and finishes for one target, against real
 * Postgres: the smaller sister of the model test of the fold (packages/domain/test/admission-model.test.ts).
 */
import type { SignalAnswer } from '@headgate/domain';
import { cancelTask } from '@headgate/store';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimRuns, dispatchedItems, finishRun } from '../../../test/world/claims.js';
import { anotherTarget, sha, submissionOf } from '../../../test/world/signals.js';
import { aDispatcher, anAdmission, aWorker, aWorld, type World } from '../../../test/world/world.js';

type Step =
  | { readonly kind: 'deliver' | 'scan'; readonly version: number }
  | { readonly kind: 'redeliver'; readonly pick: number }
  | { readonly kind: 'together'; readonly versions: readonly number[] }
  | { readonly kind: 'finish' }
  | { readonly kind: 'cancel' };

const version = fc.integer({ min: 1, max: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    arbitrary: fc.record({ kind: fc.constantFrom('deliver' as const, 'scan' as const), version }),
    weight: 5,
  },
  { arbitrary: fc.record({ kind: fc.constant('redeliver' as const), pick: fc.nat(10) }), weight: 2 },
  {
    arbitrary: fc.record({
      kind: fc.constant('together' as const),
      versions: fc.array(version, { minLength: 2, maxLength: 4 }),
    }),
    weight: 2,
  },
  { arbitrary: fc.constant<Step>({ kind: 'finish' }), weight: 3 },
  { arbitrary: fc.constant<Step>({ kind: 'cancel' }), weight: 1 },
);

const RUNS = 12;

/** One target and everything that happens to it. */
class Story {
  readonly answers: SignalAnswer[] = [];
  readonly sent: ReturnType<typeof submissionOf>[] = [];
  readonly delivered = new Set<number>();
  wasCancelled = false;

  constructor(
    private readonly world: World,
    private readonly submit: (of: ReturnType<typeof submissionOf>) => Promise<SignalAnswer>,
    private readonly finish: () => Promise<void>,
    private readonly n: number,
  ) {}

  async play(one: Step): Promise<void> {
    switch (one.kind) {
      case 'deliver':
      case 'scan':
        return this.send([this.signal(one.version, one.kind === 'scan' ? 'scan' : 'webhook')]);
      case 'together':
        return this.send(one.versions.map((v) => this.signal(v, 'webhook')));
      case 'redeliver': {
        const again = this.sent[one.pick % Math.max(1, this.sent.length)];
        return again === undefined ? undefined : this.send([again]);
      }
      case 'finish':
        return this.finish();
      case 'cancel': {
        const [task] = await this.world.sql<{ id: never }>(
          'select id from headgate.task where work_key = $1',
          [this.key],
        );
        if (task === undefined) return;
        this.wasCancelled = true;
        await cancelTask(this.world.database.service, task.id, { actor: 'test', reason: null });
      }
    }
  }

  get key(): string {
    return `42/pr/${1_000 + this.n}/check/unit`;
  }

  private signal(v: number, via: 'webhook' | 'scan') {
    const sourceAt = new Date(Date.UTC(2026, 0, 1, 0, v));
    this.delivered.add(v);
    return submissionOf({ inputVersion: sha(String(v)), sourceAt, via, ...anotherTarget(this.n) });
  }

  private async send(signals: readonly ReturnType<typeof submissionOf>[]): Promise<void> {
    this.sent.push(...signals);
    this.answers.push(...(await Promise.all(signals.map(this.submit))));
  }
}

describe('any interleaving for one target', () => {
  it('I4, I9: one run per version at most, the newest wins, receipts account for every signal', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const worker = await aWorker(world, 50);
    const dispatcher = aDispatcher(world);
    const finish = async (): Promise<void> => {
      await dispatcher.scan();
      await dispatcher.turn({ wait: true });
      const items = await dispatchedItems(world);
      if (items.length === 0) return;
      for (const run of await claimRuns(world, worker, items)) await finishRun(world, run);
    };
    let n = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        n += 1;
        const story = new Story(world, (one) => admission.submit(one), finish, n);
        for (const one of steps) await story.play(one);
        await holds(world, story);
        await finish();
      }),
      { numRuns: RUNS },
    );
  });
});

async function holds(world: World, { answers, key, delivered, wasCancelled }: Story): Promise<void> {
  const ids = answers.map((answer) => answer.receiptId);
  const receipts = await world.sql('select 1 from headgate.receipt where id = any ($1)', [ids]);
  expect(receipts).toHaveLength(answers.length);
  const runs = await world.sql<{ id: string; version: string; status: string }>(
    `select r.id, r.input_version as version, r.status from headgate.run r join headgate.task t on t.id = r.task_id
      where t.work_key = $1 order by r.id`,
    [key],
  );
  const versions = runs.map((run) => run.version);
  expect(new Set(versions).size).toBe(versions.length);
  // Never an older one after a newer one.
  expect(versions).toEqual([...versions].sort());
  for (const answer of answers) {
    if (answer.outcome === 'accept') expect(runs.some((run) => run.id === answer.runId)).toBe(true);
    if (answer.reasonCode === 'DUPLICATE_WORK') expect(answer.existing).toBe(true);
  }
  if (wasCancelled || delivered.size === 0) return;
  const newest = sha(String(Math.max(...delivered)));
  const last = runs.at(-1);
  expect(last?.version).toBe(newest);
  expect(['QUEUED', 'CLAIMED', 'SUCCEEDED']).toContain(last?.status);
}
