/** What a whole system asks of Postgres when there is nothing to do: counted on the wire, from all threads and pools. */
import { createConsole } from '@headgate/console';
import { createIntake } from '@headgate/intake';
import { createReconciler } from '@headgate/reconciler';
import { createScheduler } from '@headgate/scheduler';
import { atEnd, eventually } from '@headgate/testkit';
import { countStatements } from '@headgate/testkit/measure';
import { createWorker } from '@headgate/worker';
import { expect, test } from 'vitest';
import { aContext } from '../world/service.js';
import { aWorld } from '../world/world.js';

const WINDOW_MS = 4_000;
/** Five are the goal, and one more here, where workers poll for want of Redis. */
const MOST_PER_SECOND = 6;

test('an idle system of five services asks at most six statements a second', async () => {
  const world = await aWorld();
  const counter = await countStatements(world.urls.serviceUrl);
  atEnd(() => counter.close());
  const context = await aContext(
    { urls: { serviceUrl: counter.through(world.urls.serviceUrl) } },
    { apiUrl: counter.through(world.urls.apiUrl) },
  );
  const services = [
    createIntake(context),
    createScheduler(context),
    await createWorker(context),
    createReconciler(context),
    createConsole(context),
  ];
  for (const service of services) {
    await service.start();
    atEnd(() => service.stop());
    await service.ready();
  }
  // Once it has settled: the first ticks of all loops fall together.
  let before = { statements: counter.statements, atMs: performance.now() };
  const perSecond = await eventually(
    () => {
      const tookMs = performance.now() - before.atMs;
      if (tookMs < WINDOW_MS) return null;
      const rate = ((counter.statements - before.statements) * 1_000) / tookMs;
      if (rate > MOST_PER_SECOND) before = { statements: counter.statements, atMs: performance.now() };
      return rate <= MOST_PER_SECOND ? rate : null;
    },
    { what: `a stretch with at most ${MOST_PER_SECOND} statements a second`, deadlineMs: 20_000 },
  );
  // It is alive: something was asked.
  expect(perSecond).toBeGreaterThan(0);
}, 40_000);
