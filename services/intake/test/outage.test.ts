/** Postgres and Redis away: nothing acknowledged is lost, nothing lost was acknowledged. */
import { randomUUID } from 'node:crypto';
import { createIntake } from '@headgate/intake';
import { eventually, faultProxy, privatePostgres } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { deliver, type Reply } from '../../../test/world/deliveries.js';
import { TEST_SECRET } from '../../../test/world/policy.js';
import { aContext, served } from '../../../test/world/service.js';
import { submissionOf } from '../../../test/world/signals.js';
import { anAdmission, aWorker, aWorld, type World } from '../../../test/world/world.js';

const receiptIds = async (world: World): Promise<Set<string>> =>
  new Set((await world.sql<{ id: string }>('select id from headgate.receipt')).map((row) => row.id));

describe('without Postgres', () => {
  it('INV-IN1: a power cut under load loses no acknowledged receipt, and 503 asks the sender to come again', async () => {
    const postgres = await privatePostgres({ durable: true });
    const world = await aWorld(undefined, postgres);
    const { url } = await served(createIntake(await aContext(world), { env: { TEST_SECRET } }));

    const deliveryIds = Array.from({ length: 60 }, () => randomUUID());
    const answered: { deliveryId: string; reply: Reply }[] = [];
    const send = async (deliveryId: string, at: number): Promise<void> => {
      const reply = await deliver(url, { deliveryId, headSha: at.toString(16).padStart(40, 'a') });
      answered.push({ deliveryId, reply });
    };
    const sending = deliveryIds.map((deliveryId, at) => send(deliveryId, at));
    await Promise.race(sending);
    await postgres.server.kill9();
    const down = await deliver(url);
    expect(down).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
    expect(down.headers.get('retry-after')).toBe('5');
    await Promise.all(sending);
    await postgres.server.restart();

    const acknowledged = answered.filter(({ reply }) => reply.status === 202);
    expect(new Set(answered.map(({ reply }) => reply.status))).toEqual(
      new Set(acknowledged.length === answered.length ? [202] : [202, 503]),
    );
    const stored = await world.sql<{ event_id: string }>(
      "select event_id from headgate.receipt where kind = 'decision'",
    );
    const known = new Set(stored.map((row) => row.event_id));
    for (const { deliveryId } of acknowledged) expect(known).toContain(`1/${deliveryId}`);

    // What was refused is sent again, as its sender does, and everything ends with exactly one run.
    const again = await Promise.all(
      deliveryIds.map((deliveryId, at) =>
        deliver(url, { deliveryId, headSha: at.toString(16).padStart(40, 'a') }),
      ),
    );
    expect(new Set(again.map((reply) => reply.status))).toEqual(new Set([202]));
    expect(await world.sql('select 1 from headgate.delivery')).toHaveLength(60);
    const versions = await world.sql<{ runs: number }>(
      'select count(*)::int as runs from headgate.run group by input_version',
    );
    expect(new Set(versions.map((row) => row.runs))).toEqual(new Set([1]));
  }, 120_000);

  it('INV-IN2: a connection lost anywhere on the way leaves one answer that is true', async () => {
    const world = await aWorld();
    const { hostname, port } = new URL(world.urls.serviceUrl);
    const proxy = await faultProxy({ host: hostname, port: Number(port) });
    const cut = world.through(proxy.through(world.urls.serviceUrl));
    let unknown = 0;
    for (let bytes = 1; bytes < 4_200; bytes += 420) {
      const { admission } = anAdmission(cut);
      const submission = submissionOf({
        inputVersion: bytes.toString(16).padStart(40, 'b'),
        sourceAt: new Date(bytes * 1_000),
      });
      proxy.resetAfter(bytes);
      const answer = await admission.submit(submission).catch(() => {
        unknown += 1;
        return null;
      });
      proxy.heal();
      const before = await receiptIds(world);
      if (answer !== null) expect(before).toContain(answer.receiptId);
      const again = await anAdmission(world).admission.submit(submission);
      const runs = await world.sql<{ id: string }>('select id from headgate.run where input_version = $1', [
        submission.signal.inputVersion,
      ]);
      expect(runs).toHaveLength(1);
      if (answer !== null)
        expect(again).toMatchObject({ reasonCode: 'DUPLICATE_DELIVERY', runId: answer.runId });
      expect(again.runId).toBe(runs[0]?.id);
    }
    expect(unknown).toBeGreaterThan(2);
  }, 120_000);
});

describe('without Redis', () => {
  it('I10: acknowledges from the start, and dispatches for workers that poll', async () => {
    const world = await aWorld();
    await aWorker(world, 1);
    // Nobody listens on this port.
    const context = await aContext(world, { redisUrl: 'redis://127.0.0.1:1' });
    const { url } = await served(createIntake(context, { env: { TEST_SECRET } }));
    expect(await deliver(url)).toMatchObject({ status: 202, body: { reasonCode: 'ADMITTED' } });
    await eventually(
      async () =>
        (await world.sql("select 1 from headgate.queue_item where state = 'dispatched'")).length === 1,
      { what: 'the run is dispatched although no hint can be sent' },
    );
  });
});
