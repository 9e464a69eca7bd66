import { type RunId, systemIds, type WorkerId } from '@headgate/domain';
import type { HeadReading, SourceReader } from '@headgate/sources';
import { cancelRun, policies, workers } from '@headgate/store';
import { armFailPoint, onTestSignal, waitForSignal } from '@headgate/telemetry';
import {
  aRoute,
  atEnd,
  describeWithTool,
  dispatchRun,
  eventually,
  type SeededRun,
  testRedis,
} from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { exampleAgent, rowsOf, type Workshop, workshop } from './workshop.js';

/** Says of every target that it stands where its run is about, unless told otherwise. */
class FakeSource implements SourceReader {
  readonly #special = new Map<string, () => Promise<HeadReading>>();
  reads = 0;
  constructor(readonly headSha: string) {}
  on(targetId: string, read: () => Promise<HeadReading>): void {
    this.#special.set(targetId, read);
  }
  readHead: SourceReader['readHead'] = ({ target }) => {
    this.reads += 1;
    const read = this.#special.get(target.id);
    return read === undefined
      ? Promise.resolve({ kind: 'head', sha: this.headSha, observedAt: new Date() })
      : read();
  };
}

const target = (id: string) => ({ kind: 'branch', id, ref: 'main', aspect: null }) as const;
const attemptsOf = async (shop: Workshop, run: SeededRun): Promise<number> => {
  const [row] = await rowsOf<{ count: number }>(
    shop,
    'select count(*)::int from headgate.attempt where run_id = $1',
    [run.runId],
  );
  return row?.count ?? 0;
};

describeWithTool('redis', 'hints', () => {
  it('Q2, INV-HI2: doubled, shuffled, ancient and invented hints make one attempt of each real run', async () => {
    const redis = await testRedis();
    const shop = await workshop({ redis });
    await eventually(() => shop.context.bus.health().state === 'healthy', { what: 'hints are healthy' });
    await shop.worker({ slots: 4, timing: { beltMs: 3_600_000 } });
    const runs = [await shop.seed(), await shop.seed(), await shop.seed()];
    const real = [];
    for (const run of runs) {
      const dispatchNo = await dispatchRun(shop.db, run);
      real.push({ queue: 'default', runId: run.runId, dispatchNo, traceparent: null });
    }
    const invented = { queue: 'default', runId: systemIds.next('run'), dispatchNo: 1, traceparent: null };
    const other = real.map((hint) => ({ ...hint, dispatchNo: hint.dispatchNo + 1 }));
    const ancient = real.map((hint) => ({ ...hint, dispatchNo: hint.dispatchNo + 7 }));

    await shop.context.bus.publish([invented, ...other, ...[...real].reverse(), ...ancient]);
    for (const run of runs) await shop.reaches(run.runId, 'SUCCEEDED');
    const stale = waitForSignal('worker.hints.stale');
    await shop.context.bus.publish(real);
    await stale;

    for (const run of runs) expect(await attemptsOf(shop, run)).toBe(1);
    expect(await shop.repository.pushes()).toHaveLength(3);
  }, 60_000);

  it('Q5: a cancel’s wake-up stops the agent without waiting for the next heartbeat', async () => {
    const redis = await testRedis();
    const slow = { ttlMs: 240_000, heartbeatMs: 60_000, renewDeadlineMs: 160_000, stopMarginMs: 80_000 };
    const shop = await workshop({ redis, lease: slow, env: { HEADGATE_EXAMPLE_MODE: 'hang' } });
    await eventually(() => shop.context.bus.health().state === 'healthy', { what: 'hints are healthy' });
    await shop.worker();
    const run = await shop.seed();
    const started = waitForSignal('worker.agent.started');
    const dispatchNo = await dispatchRun(shop.db, run);
    await shop.context.bus.publish([{ queue: 'default', runId: run.runId, dispatchNo, traceparent: null }]);
    await started;
    await cancelRun(shop.db.service, run.runId, { actor: 'mona', reason: null });
    await shop.context.bus.wake('cancel', { runId: run.runId });
    // Well before the next heartbeat.
    await shop.reaches(run.runId, 'CANCELLED', 30_000);
  }, 60_000);
});

describe('claims', () => {
  it('INV-LE7: slots are never exceeded, however much is offered at once', async () => {
    const shop = await workshop({ env: { HEADGATE_EXAMPLE_SLEEP_MS: '300' } });
    let active = 0;
    let most = 0;
    atEnd(
      onTestSignal('worker.claimed', ({ runIds }) => {
        active += (runIds as RunId[]).length;
        most = Math.max(most, active);
      }),
    );
    atEnd(onTestSignal('worker.finished', () => (active -= 1)));
    await shop.worker({ slots: 2 });
    const runs = [];
    for (let n = 0; n < 6; n += 1) runs.push(await shop.offer());
    for (const run of runs) await shop.reaches(run.runId, 'SUCCEEDED', 60_000);
    expect(most).toBe(2);
    for (const run of runs) expect(await attemptsOf(shop, run)).toBe(1);
  }, 90_000);

  it('one slow source holds only its own run: the others are claimed without it', async () => {
    const shop = await workshop();
    const source = new FakeSource(shop.headSha);
    let answer: (head: HeadReading) => void = () => {};
    source.on('slow', () => new Promise<HeadReading>((resolve) => (answer = resolve)));
    const slow = await shop.offer({ target: target('slow') });
    const quick = await shop.offer({ target: target('quick') });
    // The slow one is not given up while the quick one works.
    await shop.worker({ reader: source, timing: { readTimeoutMs: 60_000, verdictMaxAgeMs: 60_000 } });
    await shop.reaches(quick.runId, 'SUCCEEDED');
    expect(await attemptsOf(shop, slow)).toBe(0);
    answer({ kind: 'head', sha: shop.headSha, observedAt: new Date() });
    await shop.reaches(slow.runId, 'SUCCEEDED');
  });

  it('a source that does not answer in time defers its run, uncharged, and longer the next time', async () => {
    const shop = await workshop();
    const source = new FakeSource(shop.headSha);
    source.on('hung', () => new Promise<HeadReading>(() => {}));
    const run = await shop.offer({ target: target('hung') });
    await shop.worker({ reader: source, timing: { readTimeoutMs: 200, sourceWaitMs: 60_000 } });
    await shop.reaches(run.runId, 'WAITING_CAPACITY');
    expect(await shop.status(run.runId)).toMatchObject({ reasonCode: 'SOURCE_UNAVAILABLE' });
    const waitOf = async (): Promise<number> => {
      const [row] = await rowsOf<{ seconds: number }>(
        shop,
        'select extract(epoch from visible_at - clock_timestamp())::float8 as seconds from headgate.queue_item where run_id = $1',
        [run.runId],
      );
      return row?.seconds ?? 0;
    };
    const first = await waitOf();
    expect(first).toBeGreaterThan(30);
    expect(first).toBeLessThan(61);
    await shop.db.service.transaction(async (c) => {
      await c.query("update headgate.queue_item set state = 'ready', waits = null where run_id = $1", [
        run.runId,
      ]);
      await c.query("update headgate.run set status = 'QUEUED' where id = $1", [run.runId]);
    });
    await shop.dispatch(run);
    await shop.reaches(run.runId, 'WAITING_CAPACITY');
    expect(await waitOf()).toBeGreaterThan(61);
    expect(await attemptsOf(shop, run)).toBe(0);
  });

  it('I6: what moved, closed or was superseded before its lease ends there, and costs no attempt', async () => {
    const shop = await workshop();
    const source = new FakeSource(shop.headSha);
    source.on('moved', async () => ({ kind: 'head', sha: 'e'.repeat(40), observedAt: new Date() }));
    source.on('closed', async () => ({ kind: 'closed', reason: 'The pull request was merged.' }));
    const moved = await shop.offer({ target: target('moved') });
    const closed = await shop.offer({ target: target('closed') });
    await shop.worker({ reader: source });
    await shop.reaches(moved.runId, 'NO_WORK');
    await shop.reaches(closed.runId, 'NO_WORK');
    expect((await shop.status(moved.runId)).reasonCode).toBe('STALE_INPUT');
    expect((await shop.status(closed.runId)).reasonCode).toBe('TARGET_CLOSED');
    expect(await attemptsOf(shop, moved)).toBe(0);
  });

  it('Q7: a policy that was activated between verdict and claim is read, and the run judged again under it', async () => {
    const shop = await workshop();
    const held = armFailPoint('worker.claim.before', 'hold@1');
    atEnd(() => held.disarm());
    const stays = await shop.offer();
    await shop.worker();
    await held.reached;
    const changed = waitForSignal('worker.claim.policyChanged');
    await policies.activate(
      shop.db.service,
      { ...shop.policy, routes: [aRoute({ verify: [], risk: 'MEDIUM' })], digest: 'second' },
      'test',
    );
    held.release();
    await changed;
    // The activation took it back; it is dispatched again under the new policy.
    await shop.dispatch(stays);
    await shop.reaches(stays.runId, 'SUCCEEDED');

    const heldAgain = armFailPoint('worker.claim.before', 'hold@1');
    atEnd(() => heldAgain.disarm());
    const goes = await shop.offer();
    await heldAgain.reached;
    await policies.activate(shop.db.service, { ...shop.policy, routes: [], digest: 'third' }, 'test');
    heldAgain.release();
    await shop.dispatch(goes);
    await shop.reaches(goes.runId, 'POLICY_DENIED');
    expect(await attemptsOf(shop, goes)).toBe(0);
  }, 60_000);

  it('an exclusive key that another holds sends the run back to ready, uncharged', async () => {
    const shop = await workshop({ env: { HEADGATE_EXAMPLE_MODE: 'hang' } });
    const concurrency = { key: 'deploy', limit: 1 };
    const first = await shop.offer({}, { concurrency });
    await shop.worker({ slots: 2 });
    await shop.reaches(first.runId, 'RUNNING');
    const second = await shop.offer({ agent: exampleAgent() }, { concurrency });
    await eventually(
      async () => {
        const [item] = await rowsOf<{ state: string; verdict: string }>(
          shop,
          'select state, verdict from headgate.queue_item where run_id = $1',
          [second.runId],
        );
        return (item?.state === 'ready' && item.verdict === 'CONCURRENCY_KEY_BUSY') || null;
      },
      { what: 'the second run is ready again' },
    );
    expect(await attemptsOf(shop, second)).toBe(0);
  });

  it('Q14: a worker that was declared dead drops what it holds and works on under a new id', async () => {
    const shop = await workshop({ env: { HEADGATE_EXAMPLE_MODE: 'hang' } });
    const registered = waitForSignal('worker.registered');
    const running = await shop.offer();
    await shop.worker();
    const workerId = (await registered)['workerId'];
    await shop.reaches(running.runId, 'RUNNING');

    const dropped = waitForSignal('worker.dropped', () => true, 20_000);
    const again = waitForSignal('worker.registered', (detail) => detail['workerId'] !== workerId, 20_000);
    await shop.db.service.use((c) => workers.setState(c, workerId as WorkerId, 'DEAD'));
    await dropped;
    await again;
    const next = await shop.offer({ agent: exampleAgent() });
    await shop.reaches(next.runId, 'SUCCEEDED');
  }, 60_000);
});
