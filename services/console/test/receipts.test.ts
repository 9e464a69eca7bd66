import { formatId, systemIds } from '@headgate/domain';
import type { Page, Receipt } from '@headgate/sdk';
import { createLedger } from '@headgate/store';
import { claimRun, finishRun } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { aConsole } from './a-console.js';
import { admitted, deliver } from './seeds.js';

describe('GET /v1/receipts', () => {
  it('I5: carries delivery, domain, execution and mutation identity, joined from the end of the run', async () => {
    const test = await aConsole();
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const run = await admitted(test, {
      eventId: '1/guid',
      traceparent,
      emittedAt: new Date('2026-01-01T00:00:00Z'),
    });
    const path = `/v1/receipts/${formatId('rcpt', run.receiptId)}`;
    expect((await test.json<Receipt>(path)).execution).toMatchObject({ attempt: null, leaseId: null });

    const lease = await claimRun(test.store, run);
    expect((await test.json<Receipt>(path)).execution).toMatchObject({
      attempt: 1,
      leaseId: formatId('lease', lease.leaseId),
    });
    const ledger = createLedger(test.store.service, {
      tenantId: test.tenant.id,
      ids: systemIds,
      actor: 'applier',
    });
    await ledger.intend({
      key: 'k/push',
      kind: 'push',
      fence: lease.fence,
      intent: { branch: 'agent/x' },
    });
    await ledger.attempt({ key: 'k/push', fence: lease.fence });
    await ledger.confirm({ key: 'k/push', externalId: 'c0ffee', url: null, evidence: {} });
    await finishRun(test.store, lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' });

    const receipt = await test.json<Receipt>(path);
    expect(receipt).toMatchObject({
      kind: 'decision',
      outcome: 'accept',
      reasonCode: 'ADMITTED',
      trigger: 'event',
      via: 'webhook',
      tenant: 'default',
      route: 'fix-failing-check',
      existing: false,
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      delivery: {
        eventId: '1/guid',
        source: 'acme',
        type: 'github.check_run.completed',
        hookId: '1',
        emittedAt: '2026-01-01T00:00:00.000Z',
      },
      domain: {
        workKey: run.workKey,
        targetId: '7',
        inputVersion: run.inputVersion,
        generation: 1,
        policyVersion: 1,
      },
      execution: {
        taskId: formatId('task', run.taskId),
        runId: formatId('run', run.runId),
        attempt: 1,
        leaseId: formatId('lease', lease.leaseId),
        fencingToken: lease.fence.fencingToken,
        // The repository by where it is, so that two sources of one repository share the key.
        concurrencyKey: expect.stringMatching(/^git:[0-9a-f]{32}\/pull_request\/7$/),
      },
      mutations: [{ operationKey: 'k/push', externalId: 'c0ffee', status: 'confirmed' }],
    });
    const closing = await test.json<Page<Receipt>>('/v1/receipts?kind=closing');
    expect(closing.items).toMatchObject([
      { kind: 'closing', reasonCode: 'SUCCEEDED', parentReceiptId: receipt.id, mutations: receipt.mutations },
    ]);
  });

  it('I9: finds receipts by each of their names', async () => {
    const test = await aConsole();
    const run = await admitted(test, { eventId: '1/a' });
    const again = await deliver(test, { eventId: '1/a' });
    const stranger = await deliver(test, {
      eventId: 'other-guid',
      type: 'github.star.created',
      source: 'third',
      repository: { externalId: '9', fullName: 'acme/web', defaultBranch: null },
    });
    const found = async (query: string): Promise<string[]> =>
      (await test.json<Page<Receipt>>(`/v1/receipts?${query}`)).items.map((receipt) => receipt.id);
    const [first, second, third] = [run.receiptId, again.receiptId, stranger.receiptId].map((id) =>
      formatId('rcpt', id),
    );
    expect(await found('')).toEqual([third, second, first]);
    expect(await found('outcome=accept')).toEqual([first]);
    expect(await found('reasonCode=DUPLICATE_DELIVERY')).toEqual([second]);
    expect(await found('source=third')).toEqual([third]);
    expect(await found('eventId=1/a')).toEqual([second, first]);
    expect(await found(`runId=${formatId('run', run.runId)}`)).toEqual([second, first]);
    expect(await found('runId=nonsense')).toEqual([]);
    expect(await found(`workKey=${encodeURIComponent(run.workKey)}`)).toEqual([second, first]);
    expect(await found('repository=acme/web')).toEqual([third]);
    expect(await found('kind=closing')).toEqual([]);
    expect(await found('limit=1')).toEqual([third]);
    const duplicate = await test.json<Receipt>(`/v1/receipts/${second}`);
    expect(duplicate).toMatchObject({ existing: true, execution: { runId: formatId('run', run.runId) } });
  });
});
