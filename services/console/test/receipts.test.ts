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
        repositoryConfig: null,
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
    expect(await found('route=fix-failing-check')).toEqual([second, first]);
    const { createdAt } = await test.json<Receipt>(`/v1/receipts/${second}`);
    expect(await found(`since=${createdAt}`)).toEqual(expect.arrayContaining([third, second]));
    expect(await found(`until=${createdAt}`)).toEqual([first]);
    expect(await found('workKey=no/such/key')).toEqual([]);
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

describe('pages of receipts', () => {
  it('hold still while receipts arrive: none twice, none left out, though all have one instant', async () => {
    const test = await aConsole();
    for (let n = 0; n < 40; n += 1)
      await deliver(test, { eventId: `before/${n}`, type: 'github.star.created' });
    await test.store.service.use((c) =>
      c.query("update headgate.receipt set created_at = '2026-01-01T00:00:00Z'"),
    );
    const standing = (await test.json<Page<Receipt>>('/v1/receipts?limit=200')).items.map(({ id }) => id);
    expect(standing).toHaveLength(40);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const at: string = cursor === null ? '' : `&cursor=${cursor}`;
      const page: Page<Receipt> = await test.json<Page<Receipt>>(
        `/v1/receipts?reasonCode=NO_ROUTE&limit=7${at}`,
      );
      seen.push(...page.items.map(({ id }) => id));
      await deliver(test, { eventId: `meanwhile/${seen.length}`, type: 'github.star.created' });
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(seen).toEqual(standing);
  });

  it('a rare reason behind very many receipts is reached: short pages go on where the last one ended', async () => {
    const test = await aConsole();
    const rare = await deliver(test, { eventId: 'rare', type: 'github.star.created' });
    await test.store.service.use((c) =>
      c.query(
        `insert into headgate.receipt (id, tenant_id, kind, outcome, reason_code, message, rule, trigger, via, source,
                                       event_id, type, received_at, policy_version)
         select headgate.uuid7(n), $1, 'decision', 'accept', 'ADMITTED', '', 'work.new', 'event', 'webhook', 'acme',
                'many/' || n, 'github.push', now(), 1
           from generate_series(1, 11000) n`,
        [test.tenant.id],
      ),
    );
    const pages: number[] = [];
    const ids: string[] = [];
    let cursor: string | null = null;
    do {
      const at: string = cursor === null ? '' : `&cursor=${cursor}`;
      const page: Page<Receipt> = await test.json<Page<Receipt>>(`/v1/receipts?reasonCode=NO_ROUTE${at}`);
      pages.push(page.items.length);
      ids.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(ids).toEqual([formatId('rcpt', rare.receiptId)]);
    expect(pages.length).toBeGreaterThan(1);
  });
});
