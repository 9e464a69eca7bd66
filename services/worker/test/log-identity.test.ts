/** Q32: whoever searches a log by any name of a run finds every line about it, those of shared work included. */
import { formatId } from '@headgate/domain';
import { armFailPoint } from '@headgate/telemetry';
import { atEnd, eventually, type SeededRun, withClient } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { LEASE, type Workshop, workshop } from './workshop.js';

interface Line {
  readonly msg: string;
  readonly runId?: string;
  readonly tenant?: string;
  readonly workKey?: string;
  readonly attempt?: number;
  readonly leaseId?: string;
  readonly workerId?: string;
  readonly traceId?: string;
}

it('Q32: every line about a run names tenant, work key, run, attempt, lease, worker and trace, also where a batch failed', async () => {
  const lines: Line[] = [];
  const log = { write: (line: string): void => void lines.push(JSON.parse(line) as Line) };
  const shop = await workshop({ lease: LEASE, log });
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const point = armFailPoint('worker.finish.before', 'throw@1');
  atEnd(() => point.disarm());
  await shop.worker();
  const run = await shop.offer({}, { receipt: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` } });
  await shop.reaches(run.runId, 'SUCCEEDED');
  // Written behind the commit that the status shows.
  await eventually(() => lines.some(({ msg }) => msg === 'attempt ended'), { what: 'its last line' });

  const about = lines.filter(({ runId }) => runId === formatId('run', run.runId));
  const said = about.map(({ msg }) => msg);
  expect(said).toContain('attempt begins');
  expect(said).toContain('the attempt could not be handed in yet');
  expect(said).toContain('attempt ended');
  const [first] = about;
  for (const line of about) {
    expect(line, line.msg).toMatchObject({
      tenant: 'default',
      workKey: run.workKey,
      attempt: 1,
      leaseId: expect.stringMatching(/^lease_/),
      workerId: expect.stringMatching(/^wkr_/),
      traceId,
    });
    expect(line.leaseId).toBe(first?.leaseId);
  }
  // And no line speaks of it under another name.
  const others = lines.filter((line) => !about.includes(line));
  expect(others.filter((line) => JSON.stringify(line).includes(run.runId))).toEqual([]);
});

/** Postgres refuses these writes until the returned function is called. */
async function refusing(shop: Workshop, write: string, when = 'true'): Promise<() => Promise<void>> {
  const asOwner = (sql: string) => withClient(shop.db.urls.ownerUrl, (owner) => owner.query(sql));
  await asOwner(
    `create function headgate.refuse() returns trigger language plpgsql as $$ begin raise 'not now'; end $$;
     create trigger refused before ${write} for each row when (${when}) execute function headgate.refuse()`,
  );
  return async () => {
    await asOwner('drop function headgate.refuse() cascade');
  };
}

describe('Q32: the lines of a claim', () => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const receipt = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };

  async function logged() {
    const lines: Line[] = [];
    const log = { write: (line: string): void => void lines.push(JSON.parse(line) as Line) };
    const shop = await workshop({ lease: LEASE, log });
    const said = (msg: string): readonly Line[] => lines.filter((line) => line.msg.startsWith(msg));
    return { shop, lines, said };
  }
  const named = (run: SeededRun) => ({
    tenant: 'default',
    workKey: run.workKey,
    runId: formatId('run', run.runId),
    workerId: expect.stringMatching(/^wkr_/),
    traceId,
  });
  const held = { attempt: 1, leaseId: expect.stringMatching(/^lease_/) };

  it('where nothing was asked yet there is no attempt and no lease: they name what there is', async () => {
    const { shop, said } = await logged();
    const point = armFailPoint('worker.claim.before', 'throw@1');
    atEnd(() => point.disarm());
    await shop.worker();
    const run = await shop.offer({}, { receipt });
    await shop.reaches(run.runId, 'SUCCEEDED');
    expect(said('the claim failed')).toEqual([expect.objectContaining(named(run))]);
  });

  it('where the database refused it they name the lease that it asked for', async () => {
    const { shop, said } = await logged();
    const taken = await refusing(shop, 'insert on headgate.lease');
    await shop.worker();
    const run = await shop.offer({}, { receipt });
    await eventually(() => said('the claim failed').length > 0 || null, { what: 'a claim has failed' });
    await taken();
    await shop.reaches(run.runId, 'SUCCEEDED');
    const { leaseId } = held;
    for (const line of said('the claim failed')) expect(line).toMatchObject({ ...named(run), leaseId });
    // Nothing was taken by it: the lease of the attempt is another.
    const [began] = said('attempt begins');
    expect(began).toMatchObject({ ...named(run), ...held });
    expect(said('the claim failed').map((line) => line.leaseId)).not.toContain(began?.leaseId);
  });

  it('where it was claimed and something behind it failed they name the attempt, and it goes on', async () => {
    const { shop, lines, said } = await logged();
    const point = armFailPoint('worker.claim.committed', 'throw@1');
    atEnd(() => point.disarm());
    await shop.worker();
    const run = await shop.offer({}, { receipt });
    await shop.reaches(run.runId, 'SUCCEEDED');
    const [claimed] = said('claimed; what follows');
    expect(claimed).toMatchObject({ ...named(run), ...held });
    expect(said('attempt begins')).toMatchObject([{ leaseId: claimed?.leaseId, attempt: 1 }]);
    expect(said('the claim failed')).toEqual([]);
    const about = lines.filter((line) => JSON.stringify(line).includes(run.runId));
    expect(about.filter(({ leaseId }) => leaseId !== claimed?.leaseId)).toEqual([]);
  });

  it('where its verdict could not be written they name it', async () => {
    const { shop, said } = await logged();
    const reader = { readHead: async () => ({ kind: 'closed', reason: 'It was merged.' }) as const };
    const taken = await refusing(shop, 'update on headgate.run', "new.status = 'NO_WORK'");
    await shop.worker({ reader });
    const run = await shop.offer(
      { target: { kind: 'branch', id: 'a', ref: 'main', aspect: null } },
      { receipt },
    );
    await eventually(() => said('its verdict could not').length > 0 || null, {
      what: 'a verdict was refused',
    });
    await taken();
    await shop.reaches(run.runId, 'NO_WORK');
    for (const line of said('its verdict could not')) expect(line).toMatchObject(named(run));
  });

  it('where it could not be judged they name it', async () => {
    const { shop, said } = await logged();
    const asOwner = (sql: string) => withClient(shop.db.urls.ownerUrl, (owner) => owner.query(sql));
    const reader = { readHead: async () => ({ kind: 'unavailable', detail: 'away' }) as const };
    await asOwner('revoke select on headgate.run_event from headgate_service');
    await shop.worker({ reader });
    const run = await shop.offer(
      { target: { kind: 'branch', id: 'a', ref: 'main', aspect: null } },
      { receipt },
    );
    await eventually(() => said('it could not be judged').length > 0 || null, { what: 'a judgement failed' });
    await asOwner('grant select on headgate.run_event to headgate_service');
    await shop.reaches(run.runId, 'WAITING_CAPACITY');
    for (const line of said('it could not be judged')) expect(line).toMatchObject(named(run));
  });
});
