/**
 * What one signal, one run and one beat cost, in counts that do not vary with the machine: statements, round trips, bytes
 * of the log. A bound is the count as it is, or a little above it where the sizes of JSON vary. Lower one when you can;
 * raise one only with a reason in the commit.
 */
import { randomBytes } from 'node:crypto';
import { openDatabase } from '@headgate/store';
import { atEnd, privatePostgres } from '@headgate/testkit';
import { walBytes, watch } from '@headgate/testkit/measure';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Item, type Line, lineOver, someWork } from '../world/line.js';
import { silent } from '../world/world.js';

const BATCH = 200;

let line: Line;
let ownerUrl: string;
beforeAll(async () => {
  const postgres = await privatePostgres({ durable: false });
  ownerUrl = postgres.ownerUrl;
  // One session, so that all of it is seen.
  const db = openDatabase({
    serviceUrl: postgres.serviceUrl,
    applicationName: 'counts',
    logger: silent,
    maxConnections: 1,
  });
  atEnd(() => db.close());
  line = await lineOver(db);
  // Makes the small ids of tenant, route and repository, which a process does once.
  await line.submit(someWork(1, 0));
}, 60_000);

async function counted(work: () => Promise<unknown>) {
  const { statements, roundTrips } = await watch([line.db.service, line.db.reserved], work);
  return { statements: statements.length, roundTrips };
}

describe('statements and round trips', () => {
  test('I3: 200 signals at once cost as many as one alone', async () => {
    const cost = { statements: 13, roundTrips: 4 };
    expect(await counted(() => line.submit(someWork(1, 10_000)))).toEqual(cost);
    expect(await counted(() => line.submit(someWork(BATCH, 20_000)))).toEqual(cost);
  });

  test('I3: so do 200 signals about work that is known', async () => {
    await line.submit(someWork(BATCH, 25_000));
    const cost = { statements: 11, roundTrips: 5 };
    expect(await counted(() => line.submit(someWork(1, 25_000)))).toEqual(cost);
    expect(await counted(() => line.submit(someWork(BATCH, 25_000)))).toEqual(cost);
  });

  test('I4: a delivery that was answered asks nothing of its work: 200 cost as many as one', async () => {
    const again = someWork(BATCH, 27_000);
    await line.submit(again);
    const cost = { statements: 7, roundTrips: 4 };
    expect(await counted(() => line.submit(again.slice(0, 1)))).toEqual(cost);
    expect(await counted(() => line.submit(again))).toEqual(cost);
  });

  test('Q13: 200 runs are dispatched, claimed, started and finished by as many as one', async () => {
    await line.submit(someWork(BATCH + 1, 30_000));
    for (const count of [1, BATCH]) {
      let items: readonly Item[] = [];
      let runs: Awaited<ReturnType<Line['claim']>> = [];
      const cost = {
        dispatch: await counted(async () => {
          items = await line.dispatch(count);
        }),
        claim: await counted(async () => {
          runs = await line.claim(items);
        }),
        beat: await counted(() => line.beat(runs)),
        start: await counted(() => line.start(runs)),
        finish: await counted(() => line.finish(runs)),
      };
      expect(runs).toHaveLength(count);
      expect(cost).toEqual({
        dispatch: { statements: 9, roundTrips: 3 },
        claim: { statements: 9, roundTrips: 2 },
        beat: { statements: 1, roundTrips: 1 },
        start: { statements: 6, roundTrips: 3 },
        finish: { statements: 11, roundTrips: 2 },
      });
    }
  });
});

/** Full page images are off: they depend on when the last checkpoint was, not on us. */
describe('bytes of the log, without payload', () => {
  const ROUNDS = 5;
  // The middle one of the rounds: what the server logs on its own account (a checkpoint, a vacuum) falls into few.
  const perOne = async (work: (round: number) => Promise<unknown>): Promise<number> => {
    const rounds: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      rounds.push((await walBytes(ownerUrl, () => work(round))) / BATCH);
    }
    return rounds.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.NaN;
  };

  test('of a signal that becomes a run: delivery, task, version, run, item, two events, receipt', async () => {
    const bytes = await perOne((round) => line.submit(someWork(BATCH, 50_000 + round * BATCH)));
    // 6 640 to 6 740: where pages of the indexes split depends on the random part of ids.
    expect(bytes).toBeLessThanOrEqual(6_900);
  });

  test('I8: of a delivery that comes again: its receipt, and nothing of the 4 KB that it carries', async () => {
    const body = Buffer.from(JSON.stringify({ noise: randomBytes(3_000).toString('base64') }));
    const again = someWork(BATCH, 80_000, { mediaType: 'application/json', body });
    await line.submit(again);
    expect(await perOne(() => line.submit(again))).toBeLessThanOrEqual(1_500);
  });

  test('of a run from dispatch to its closing receipt', async () => {
    await line.submit(someWork(ROUNDS * BATCH, 60_000));
    const bytes = await perOne(async () => {
      const runs = await line.claim(await line.dispatch(BATCH));
      await line.start(runs);
      await line.finish(runs);
    });
    expect(bytes).toBeLessThanOrEqual(5_900);
  });

  test('Q4: of a lease at each beat', async () => {
    await line.submit(someWork(BATCH, 70_000));
    const runs = await line.claim(await line.dispatch(BATCH));
    // 54 the lock, 95 the new version with the renewal's instant and number, the rest is pruning the one before.
    expect(await perOne(() => line.beat(runs))).toBeLessThanOrEqual(165);
  });
});
