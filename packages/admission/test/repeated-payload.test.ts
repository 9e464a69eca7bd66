/** I8: a delivery that comes again keeps pointing at the payload that came first. */
import { recordedReceipts } from '@headgate/store';
import { eventually, withClient } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { CHECKS, policyFrom } from '../../../test/world/policy.js';
import { aSignal, submissionOf } from '../../../test/world/signals.js';
import { anAdmission, aWorld, type World } from '../../../test/world/world.js';

const payload = (text = 'as it came ') => ({
  mediaType: 'application/json',
  body: Buffer.from(JSON.stringify({ text: text.repeat(100) })),
});
const keptIn = async (world: World): Promise<readonly string[]> =>
  (await world.sql<{ id: string }>('select receipt_id as id from headgate.payload order by 1')).map(
    ({ id }) => id,
  );
const again = (signal = aSignal(), body = payload()) => submissionOf(signal, { payload: body });

describe('a repeated delivery', () => {
  it('is not kept again, in a batch of its own or in one with others', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const signal = aSignal();
    const burst = await Promise.all(Array.from({ length: 20 }, () => admission.submit(again(signal))));
    const [first] = burst.filter(({ reasonCode }) => reasonCode === 'ADMITTED');
    expect(await admission.submit(again(signal))).toMatchObject({ reasonCode: 'DUPLICATE_DELIVERY' });
    expect(await keptIn(world)).toEqual([first?.receiptId]);
    const parents = await world.sql(
      'select distinct parent_receipt_id as id from headgate.receipt order by 1 nulls last',
    );
    expect(parents).toEqual([{ id: first?.receiptId }, { id: null }]);
  });

  it('is kept if it says something else under the same id, whichever batch brings it', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const signal = aSignal();
    const others = [
      again(signal, payload('forged ')),
      again(signal, { ...payload(), mediaType: 'text/plain' }),
    ];
    const first = await admission.submit(again(signal));
    const apart = [];
    for (const one of others) apart.push(await admission.submit(one));
    expect(await keptIn(world)).toEqual([first, ...apart].map(({ receiptId }) => receiptId));

    const next = aSignal();
    await Promise.all([again(next), again(next, payload('forged '))].map((one) => admission.submit(one)));
    expect(await keptIn(world)).toHaveLength(5);
  });

  it('finds the one beside the receipt that stands for the delivery, where several routes took it', async () => {
    const observes = `${CHECKS.replace('on: [ github.check_run.completed, manual ]', '$&\n    mode: observe')}  second:
    on: [ github.check_run.completed ]
    work: { key: "{{ repository.id }}/second/{{ target.id }}" }
`;
    const world = await aWorld(await policyFrom(observes));
    const { admission } = anAdmission(world);
    const signal = aSignal();
    const first = await admission.submit(again(signal));
    expect(first.reasonCode).toBe('ADMITTED');
    await admission.submit(again(signal));
    await admission.submit(again(signal));
    expect(await keptIn(world)).toEqual([first.receiptId]);
  });

  it('is kept anew once retention has taken the first', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const signal = aSignal();
    await admission.submit(again(signal));
    await world.sql('delete from headgate.payload');
    const repeat = await admission.submit(again(signal));
    expect(await keptIn(world)).toEqual([repeat.receiptId]);
    await admission.submit(again(signal));
    expect((await keptIn(world)).length).toBe(2);
  });

  it('that arrives while the first is about to commit waits for it, and keeps nothing', async () => {
    const world = await aWorld();
    const [one, other] = [anAdmission(world).admission, anAdmission(world).admission];
    const signal = aSignal();
    const waiting = async (count: number) =>
      (await world.sql('select 1 from pg_locks where not granted')).length >= count;
    const [first, second] = await withClient(world.urls.ownerUrl, async (client) => {
      await client.query('begin');
      await client.query('lock table headgate.payload in exclusive mode');
      const ahead = one.submit(again(signal));
      await eventually(() => waiting(1), { what: 'the first waits to keep its payload' });
      const behind = other.submit(again(signal));
      await eventually(() => waiting(2), { what: 'the second waits for the delivery' });
      await client.query('commit');
      return Promise.all([ahead, behind]);
    });
    expect(first.reasonCode).toBe('ADMITTED');
    expect(second.reasonCode).toBe('DUPLICATE_DELIVERY');
    expect(await keptIn(world)).toEqual([first.receiptId]);
  });

  it('is decided again by a simulation as it was: with what its first receipt has', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const signal = aSignal();
    await admission.submit(again(signal));
    await admission.submit(again(signal));
    const since = new Date(Date.now() - 60_000);
    const bodies = await world.database.service.use(async (c) => {
      const found: (string | undefined)[] = [];
      for await (const { payload: kept } of recordedReceipts.read(c, since))
        found.push(kept?.body.toString());
      return found;
    });
    expect(bodies).toEqual([payload().body.toString(), payload().body.toString()]);
  });
});
