import { createServer } from 'node:http';
import { formatId, systemIds } from '@headgate/domain';
import type { Explanation } from '@headgate/sdk';
import { createLedger, reap } from '@headgate/store';
import { aRoute, claimRun, expireLease, finishRun } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { aConsole, aTwoTenantPolicy, type TestConsole } from './a-console.js';
import { admitted, deliver } from './seeds.js';

const why = (test: TestConsole, ref: string, token = test.tokens.admin): Promise<Explanation> =>
  test.json(`/v1/explain?ref=${encodeURIComponent(ref)}`, { token });
const GUID = '7f3c9c1e-0000-4000-8000-000000000001';
const SHA = '9f31c2aa00112233445566778899aabbccddeeff';

describe('GET /v1/explain', () => {
  it('I17: understands every way to name the same thing', async () => {
    const test = await aConsole();
    const run = await admitted(test, { eventId: `1/${GUID}`, inputVersion: SHA });
    const id = formatId('run', run.runId);
    const ways: readonly (readonly [string, Explanation['kind']])[] = [
      [GUID, 'delivery'],
      [`1/${GUID}`, 'delivery'],
      [formatId('rcpt', run.receiptId), 'receipt'],
      [id, 'run'],
      [formatId('task', run.taskId), 'task'],
      [run.workKey, 'workKey'],
      ['acme/api#7', 'url'],
      ['#7', 'url'],
      ['acme/api', 'url'],
      ['https://github.com/acme/api/pull/7', 'url'],
      ['https://github.com/Acme/API/pull/7/files#diff', 'url'],
      [`https://github.com/acme/api/commit/${SHA}`, 'url'],
      [`https://ghe.example.com/acme/api/pull/7/commits/${SHA}`, 'url'],
      [`http://127.0.0.1:8080/runs/${id}`, 'run'],
      [SHA, 'sha'],
      ['9f31c2a', 'sha'],
      ['9F31C2AA0011', 'sha'],
      ['acme/api@9f31c2a', 'sha'],
    ];
    for (const [ref, kind] of ways) {
      const explained = await why(test, ref);
      expect(explained.kind, ref).toBe(kind);
      expect(explained.ref).toBe(ref);
      expect(
        explained.steps.some((step) => step.runId === id),
        ref,
      ).toBe(true);
      expect(explained.waiting?.reasonCode, ref).toBe('NO_CAPABLE_WORKER');
    }
  });

  it('I17: why did it run twice? One was decided, the other was a duplicate', async () => {
    const test = await aConsole();
    const run = await admitted(test, { eventId: `1/${GUID}` });
    await deliver(test, { eventId: `1/${GUID}` });
    const { summary, steps } = await why(test, GUID);
    expect(summary).toContain('2 signals led to 1 run (1 met a run that was there before).');
    const decisions = steps.filter((step) => step.type === 'receipt.decision');
    expect(decisions).toMatchObject([
      { outcome: 'accept', reasonCode: 'ADMITTED', rule: 'new-version', actor: 'user:mona' },
      { outcome: 'reject', reasonCode: 'DUPLICATE_DELIVERY', rule: 'delivery-dedupe' },
    ]);
    expect(new Set(decisions.map((step) => step.runId))).toEqual(new Set([formatId('run', run.runId)]));
    // The signal stands before the run that it made.
    expect(steps.map((step) => step.type).slice(0, 3)).toEqual([
      'receipt.decision',
      'run.admitted',
      'run.queued',
    ]);
  });

  it('I17: why did it not run? The rule that said no is named', async () => {
    const route = aRoute({ when: { source: 'event.check_run.conclusion == "failure"' } });
    const test = await aConsole({ policy: aTwoTenantPolicy({ routes: [route] }) });
    await deliver(test, { eventId: GUID, data: { check_run: { conclusion: 'success' } } });
    const { summary, steps, waiting } = await why(test, GUID);
    expect(summary).toContain('no run: refused with NOT_ELIGIBLE by rule route.when');
    expect(steps).toMatchObject([
      { rule: 'route.when', runId: null, message: expect.stringContaining('is false') },
    ]);
    expect(waiting).toBeNull();
  });

  it('I17: why did it run old input? Which version took whose place', async () => {
    const test = await aConsole();
    const sourceAt = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 12, minute));
    const old = await admitted(test, { inputVersion: 'a'.repeat(40), sourceAt: sourceAt(1) });
    const fresh = await admitted(test, { inputVersion: 'b'.repeat(40), sourceAt: sourceAt(2) });
    await deliver(test, { inputVersion: 'c'.repeat(40), sourceAt: sourceAt(0) });
    const { steps, summary } = await why(test, 'acme/api#7');
    const superseded = steps.find((step) => step.type === 'run.superseded');
    expect(superseded).toMatchObject({ runId: formatId('run', old.runId), reasonCode: 'SUPERSEDED' });
    expect(superseded?.message).toContain(formatId('run', fresh.runId));
    expect(steps.filter((step) => step.type === 'receipt.decision').at(-1)).toMatchObject({
      reasonCode: 'SUPERSEDED',
      rule: 'source-order',
    });
    expect(summary).toContain('3 signals led to 2 runs (1 refused).');
    expect(summary).toContain('did nothing (SUPERSEDED');
  });

  it('I17: why did it write twice? One operation, tried, unknown, read, and tried no more than it had to', async () => {
    const test = await aConsole();
    const run = await admitted(test);
    const lease = await claimRun(test.store, run);
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
    await ledger.ambiguous({ key: 'k/push', tries: 1, detail: 'connection reset' });
    await ledger.confirm({ key: 'k/push', externalId: SHA, url: null, evidence: {} });
    await finishRun(test.store, lease, { kind: 'succeeded', reasonCode: 'SUCCEEDED' });
    // The commit that we pushed leads to the run as well.
    for (const ref of [formatId('run', run.runId), SHA.slice(0, 12)]) {
      const { steps, summary } = await why(test, ref);
      expect(steps.filter((step) => step.type.startsWith('operation.')).map((step) => step.type)).toEqual([
        'operation.intended',
        'operation.attempted',
        'operation.ambiguous',
        'operation.confirmed',
      ]);
      expect(steps.find((step) => step.type === 'operation.ambiguous')?.message).toContain(
        'connection reset',
      );
      expect(summary).toContain(`push ${SHA}`);
      expect(steps.at(-1)).toMatchObject({ type: 'receipt.closing', reasonCode: 'SUCCEEDED' });
    }
  });

  it('I17: why did it burn money on nothing? The attempts, what each cost, and how it ended', async () => {
    const test = await aConsole();
    const run = await admitted(test);
    const lease = await claimRun(test.store, run);
    await finishRun(
      test.store,
      lease,
      { kind: 'failed', reasonCode: 'VERIFIER_FAILED', detail: 'npm test', retryAfterMs: null },
      1.12,
    );
    const { steps, summary } = await why(test, run.workKey);
    expect(summary).toContain('failed with VERIFIER_FAILED');
    expect(summary).toContain('1.12 USD');
    expect(steps.find((step) => step.type === 'attempt.failed')).toMatchObject({
      reasonCode: 'VERIFIER_FAILED',
      message: expect.stringContaining('It cost 1.12 USD.'),
      actor: `worker:${formatId('wkr', lease.workerId)}`,
    });
  });

  it('Q4: a lost worker and its successor are both in the chain, with their fences', async () => {
    const test = await aConsole();
    const run = await admitted(test);
    const lease = await claimRun(test.store, run);
    await expireLease(test.store, run.runId);
    await reap(test.store.service, { limit: 10, graceMs: 60_000, random: () => 0, actor: 'reconciler' });
    const { steps, waiting } = await why(test, formatId('run', run.runId));
    const claimed = steps.find((step) => step.type === 'run.claimed');
    expect(claimed?.message).toContain(`fencing token ${lease.fence.fencingToken}`);
    expect(claimed?.message).toContain(formatId('wkr', lease.workerId));
    expect(steps.find((step) => step.type === 'attempt.lost')).toMatchObject({ reasonCode: 'WORKER_LOST' });
    expect(waiting?.reasonCode).toBe('RETRY_BACKOFF');
  });

  it('answers an unknown reference with what to check, and what each source delivered last', async () => {
    const test = await aConsole();
    await deliver(test, {});
    const unknown = await why(test, 'https://github.com/nobody/nothing/pull/1');
    expect(unknown).toMatchObject({ kind: 'none', steps: [], waiting: null });
    expect(unknown.summary).toContain('Nothing is known about');
    expect(unknown.candidates.filter((one) => one.kind === 'check').length).toBeGreaterThan(1);
    expect(unknown.candidates).toContainEqual({
      kind: 'source',
      id: 'acme',
      label: expect.stringContaining('github.check_run.completed, accept with ADMITTED'),
    });
    expect(unknown.candidates).toContainEqual({
      kind: 'source',
      id: 'others-source',
      label: expect.stringContaining('nothing has arrived'),
    });
  });

  it('fetches nothing that a reference names', async () => {
    const test = await aConsole();
    let asked = 0;
    const trap = createServer((_request, response) => {
      asked += 1;
      response.end();
    });
    await new Promise<void>((resolve) => trap.listen(0, '127.0.0.1', resolve));
    const address = trap.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    for (const ref of [
      `http://127.0.0.1:${port}/a/b/pull/1`,
      `http://localhost:${port}/`,
      'http://[',
      'file:///etc/passwd',
    ]) {
      expect((await why(test, ref)).kind).toBe('none');
    }
    trap.close();
    expect(asked).toBe(0);
  });

  it('offers the tasks behind a name that means several', async () => {
    const test = await aConsole();
    await admitted(test);
    await admitted(test, { target: { kind: 'pull_request', id: '7', ref: 'feature', aspect: 'lint' } });
    const { candidates } = await why(test, 'acme/api#7');
    expect(candidates.map((candidate) => candidate.kind)).toEqual(['task', 'task']);
  });
});
