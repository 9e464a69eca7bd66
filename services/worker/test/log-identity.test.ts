/** Q32: whoever searches a log by any name of a run finds every line about it, those of shared work included. */
import { formatId } from '@headgate/domain';
import { armFailPoint } from '@headgate/telemetry';
import { atEnd, eventually } from '@headgate/testkit';
import { expect, it } from 'vitest';
import { LEASE, workshop } from './workshop.js';

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

it('Q32: where a claim failed its line names tenant, work key, run, worker and trace: there is no attempt yet', async () => {
  const lines: Line[] = [];
  const log = { write: (line: string): void => void lines.push(JSON.parse(line) as Line) };
  const shop = await workshop({ lease: LEASE, log });
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const point = armFailPoint('worker.claim.before', 'throw@1');
  atEnd(() => point.disarm());
  await shop.worker();
  const run = await shop.offer({}, { receipt: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` } });
  await shop.reaches(run.runId, 'SUCCEEDED');
  const failed = lines.filter(({ msg }) => msg.startsWith('the claim failed'));
  expect(failed).toMatchObject([
    {
      tenant: 'default',
      workKey: run.workKey,
      runId: formatId('run', run.runId),
      workerId: expect.stringMatching(/^wkr_/),
      traceId,
    },
  ]);
});
