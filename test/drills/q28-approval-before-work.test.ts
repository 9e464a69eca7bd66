/** A tenant that wants a person's word before its risky work: from the delivery to the agent, and to its end. */
import { aTenantPolicy, type Cluster, type SignalReply, startCluster } from '@headgate/testkit';
import { expect, test } from 'vitest';
import { CLUSTER_TEST_MS, expectOnePushEach, PATIENCE_MS } from '../harness/outcomes.js';

const aCarefulCluster = (): Promise<Cluster> =>
  startCluster({
    layout: 'one',
    services: { worker: 1, console: 1 },
    route: { risk: 'HIGH' },
    policy: { tenants: [aTenantPolicy({ requireApprovalFor: ['HIGH'] })] },
  });

const publicId = ({ body }: SignalReply): string => (body as { runId: string }).runId;

async function ask(
  cluster: Cluster,
  path: string,
  method = 'GET',
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${cluster.member('console').url}/v1/${path}`, {
    method,
    headers: { authorization: `Bearer ${cluster.token}`, 'content-type': 'application/json' },
    ...(method === 'POST' ? { body: JSON.stringify({ reason: 'looked at it' }) } : {}),
  });
  return { status: response.status, body: await response.json() };
}

/** It waits: told so at the hook, on its receipt and on its run, and nothing can start it. */
async function expectWaiting(cluster: Cluster, reply: SignalReply): Promise<void> {
  expect(reply).toMatchObject({ outcome: 'accept', reasonCode: 'APPROVAL_REQUIRED', existing: false });
  const receipt = (reply.body as { receiptId: string }).receiptId;
  expect((await ask(cluster, `receipts/${receipt}`)).body).toMatchObject({
    ...{ outcome: 'accept', reasonCode: 'APPROVAL_REQUIRED' },
    execution: { runId: publicId(reply) },
  });
  const run = await cluster.ask.run(reply.runId ?? '');
  expect(run).toMatchObject({ status: 'WAITING_APPROVAL', attemptNo: 0 });
  expect(await cluster.ask.count('headgate.queue_item where run_id = $1', run.id)).toBe(0);
  expect((await ask(cluster, `runs/${publicId(reply)}`)).body).toMatchObject({
    waiting: { reasonCode: 'APPROVAL_REQUIRED' },
    approval: { subject: 'admission', outcome: null, resultSha256: null, fourEyes: true },
    actions: expect.arrayContaining([
      expect.objectContaining({ name: 'approve', allowed: true }),
      expect.objectContaining({ name: 'decline', allowed: true }),
    ]),
  });
}

test(
  'Q28: work of a risk that needs approval waits for a person, and once approved runs like any other',
  async () => {
    const cluster = await aCarefulCluster();
    const reply = await cluster.send({ check: 'quick-1' });
    await expectWaiting(cluster, reply);
    expect(await cluster.send({ check: 'quick-1' })).toMatchObject({ existing: true, runId: reply.runId });

    expect(await ask(cluster, `runs/${publicId(reply)}/approve`, 'POST')).toMatchObject({ status: 202 });

    const run = await cluster.waitForRun(reply.runId ?? '', 'SUCCEEDED', PATIENCE_MS);
    await cluster.settle(PATIENCE_MS);
    await expectOnePushEach(cluster, [run.id]);
    expect((await ask(cluster, `runs/${publicId(reply)}`)).body).toMatchObject({
      approval: { outcome: 'approved', decidedBy: 'token:cluster', reason: 'looked at it' },
    });
    // Said again it is the same; said otherwise it is too late.
    expect(await ask(cluster, `runs/${publicId(reply)}/approve`, 'POST')).toMatchObject({ status: 202 });
    expect(await ask(cluster, `runs/${publicId(reply)}/decline`, 'POST')).toMatchObject({ status: 409 });
    expect((await cluster.check()).report.findings).toEqual([]);
  },
  CLUSTER_TEST_MS,
);

test(
  'Q28: declined work ends before its agent starts, and the same version may be asked for again',
  async () => {
    const cluster = await aCarefulCluster();
    const reply = await cluster.send({ check: 'quick-1' });
    await expectWaiting(cluster, reply);

    expect(await ask(cluster, `runs/${publicId(reply)}/decline`, 'POST')).toMatchObject({ status: 202 });

    const run = await cluster.ask.run(reply.runId ?? '');
    expect(run).toMatchObject({ status: 'POLICY_DENIED', reasonCode: 'APPROVAL_DECLINED', attemptNo: 0 });
    expect(await cluster.ask.attempts(run.id)).toEqual([]);
    expect(await cluster.pushes()).toEqual([]);
    expect((await ask(cluster, `runs/${publicId(reply)}/approve`, 'POST')).status).toBe(409);
    const closing = await ask(cluster, `receipts?kind=closing&runId=${publicId(reply)}`);
    expect(closing.body).toMatchObject({ items: [{ reasonCode: 'APPROVAL_DECLINED' }] });
    const again = await cluster.send({ check: 'quick-1' });
    expect(again).toMatchObject({ outcome: 'accept', reasonCode: 'APPROVAL_REQUIRED', existing: false });
    expect(again.runId).not.toBe(run.id);
  },
  CLUSTER_TEST_MS,
);

test(
  'Q28: work below that risk asks nobody',
  async () => {
    const cluster = await startCluster({
      layout: 'one',
      services: { worker: 1 },
      route: { risk: 'MEDIUM' },
      policy: { tenants: [aTenantPolicy({ requireApprovalFor: ['HIGH'] })] },
    });
    const run = await cluster.sendForRun('quick-1');
    await cluster.waitForRun(run, 'SUCCEEDED', PATIENCE_MS);
  },
  CLUSTER_TEST_MS,
);
