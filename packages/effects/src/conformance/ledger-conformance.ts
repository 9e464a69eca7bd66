/**
 * What every operation ledger must do, in memory or over Postgres: run each case as a test of its own.
 * Needs no test framework, so that any package can run it.
 */
import assert from 'node:assert/strict';
import type { LeaseId, Operation, OperationFence, OperationLedger, ReportResult } from '@headgate/domain';

/** A ledger with one run that holds a lease. */
export interface LedgerFixture {
  readonly ledger: OperationLedger;
  readonly fence: OperationFence;
  /** Ends the lease and gives the run to another claimant. */
  takeOver(): Promise<OperationFence>;
  /** Lets the lease run out; nobody takes it. */
  expireLease(): Promise<void>;
  /** Commits a cancel of the run. */
  cancelRun(): Promise<void>;
  close(): Promise<void>;
}

export interface ConformanceCase {
  readonly name: string;
  run(): Promise<void>;
}

const HOUR_MS = 3_600_000;
const key = 'push:conformance';
const intent = {
  remoteUrl: '/srv/example.git',
  ref: 'refs/heads/x',
  commitSha: 'a'.repeat(40),
  expectedOldSha: null,
};
const evidence = { sha: 'a'.repeat(40) };
const confirmation = { key, evidence, externalId: 'refs/heads/x@a', url: null };

export function ledgerConformance(makeFixture: () => Promise<LedgerFixture>): readonly ConformanceCase[] {
  const cases: ConformanceCase[] = [];
  const holds = (name: string, body: (fixture: LedgerFixture) => Promise<void>): void => {
    cases.push({
      name,
      run: async () => {
        const fixture = await makeFixture();
        try {
          await body(fixture);
        } finally {
          await fixture.close();
        }
      },
    });
  };

  holds('I15: an intent is kept before any call', async (fixture) => {
    const operation = await intended(fixture);
    assert.equal(operation.state, 'intended');
    assert.equal(operation.tries, 0);
    assert.equal(operation.runId, fixture.fence.runId);
    assert.deepEqual(operation.intent, intent);
    assert.deepEqual((await fixture.ledger.find(key))?.id, operation.id);
  });

  holds('a key that nobody intended is not found', async ({ ledger }) => {
    assert.equal(await ledger.find('push:unknown'), null);
  });

  holds('Q25: the same key again gives the first intent, whatever the second says', async (fixture) => {
    const first = await intended(fixture);
    const second = await fixture.ledger.intend({
      key,
      kind: 'push',
      fence: fixture.fence,
      intent: { ...intent, commitSha: 'b'.repeat(40) },
    });
    assert.equal(second.kind, 'existing');
    assert.ok(second.kind === 'existing');
    assert.equal(second.operation.id, first.id);
    assert.deepEqual(second.operation.intent, intent);
  });

  holds('Q16: a superseded claim can neither intend nor attempt', async (fixture) => {
    await intended(fixture);
    const successor = await fixture.takeOver();
    assert.equal((await intend(fixture, fixture.fence)).kind, 'fence-lost');
    assert.equal((await fixture.ledger.attempt({ key, fence: fixture.fence })).kind, 'fence-lost');
    assert.equal((await fixture.ledger.intend({ ...fresh, fence: fixture.fence })).kind, 'fence-lost');
    assert.equal(await fixture.ledger.find(fresh.key), null);
    assert.equal((await intend(fixture, successor)).kind, 'existing');
    assert.equal((await fixture.ledger.attempt({ key, fence: successor })).kind, 'go');
  });

  holds('INV-LE1: the right token with another lease id is not the fence', async (fixture) => {
    await intended(fixture);
    const forged = { ...fixture.fence, leaseId: '00000000-0000-7000-8000-000000000000' as LeaseId };
    assert.equal((await intend(fixture, forged)).kind, 'fence-lost');
    assert.equal((await fixture.ledger.attempt({ key, fence: forged })).kind, 'fence-lost');
  });

  holds('I14: an expired lease starts no side effect', async (fixture) => {
    await intended(fixture);
    await fixture.expireLease();
    assert.equal((await fixture.ledger.attempt({ key, fence: fixture.fence })).kind, 'fence-lost');
    assert.equal((await fixture.ledger.intend({ ...fresh, fence: fixture.fence })).kind, 'fence-lost');
  });

  holds('INV-ST2: after a cancel nothing new is intended or attempted', async (fixture) => {
    await intended(fixture);
    await fixture.cancelRun();
    assert.equal((await fixture.ledger.attempt({ key, fence: fixture.fence })).kind, 'cancelled');
    assert.equal((await fixture.ledger.intend({ ...fresh, fence: fixture.fence })).kind, 'cancelled');
    assert.equal(await fixture.ledger.find(fresh.key), null);
  });

  holds('a call made before a cancel can still be reported', async (fixture) => {
    await attempted(fixture);
    await fixture.cancelRun();
    assert.equal((await fixture.ledger.confirm(confirmation)).operation.state, 'confirmed');
  });

  holds('an attempt is counted and is given once', async (fixture) => {
    await intended(fixture);
    const results = await Promise.all(
      [1, 2, 3, 4].map(() => fixture.ledger.attempt({ key, fence: fixture.fence })),
    );
    assert.deepEqual(results.map((result) => result.kind).sort(), ['go', 'unknown', 'unknown', 'unknown']);
    const standing = await fixture.ledger.find(key);
    assert.equal(standing?.state, 'attempted');
    assert.equal(standing?.tries, 1);
  });

  holds('what is confirmed is never attempted again and changes no more', async (fixture) => {
    await attempted(fixture);
    written(await fixture.ledger.confirm(confirmation), 'confirmed');
    const again = await fixture.ledger.attempt({ key, fence: fixture.fence });
    assert.equal(again.kind, 'not-needed');
    unchanged(await fixture.ledger.ambiguous({ key, tries: 1, detail: 'late' }), 'confirmed');
    unchanged(await fixture.ledger.conflicted({ key, tries: 1, detail: 'late' }), 'confirmed');
    unchanged(await fixture.ledger.abandoned({ key, tries: 1, detail: 'late' }), 'confirmed');
    const operation = await fixture.ledger.find(key);
    assert.deepEqual(operation?.evidence, evidence);
    assert.equal(operation?.externalId, confirmation.externalId);
  });

  holds('INV-EF3: nothing is confirmed that was never attempted', async (fixture) => {
    await intended(fixture);
    unchanged(await fixture.ledger.confirm(confirmation), 'intended');
  });

  holds(
    'an attempt without a report, like an ambiguous one, is not repeated without a read',
    async (fixture) => {
      await attempted(fixture);
      assert.equal((await fixture.ledger.attempt({ key, fence: fixture.fence })).kind, 'unknown');
      written(await fixture.ledger.ambiguous({ key, tries: 1, detail: 'time-out' }), 'ambiguous');
      assert.equal((await fixture.ledger.attempt({ key, fence: fixture.fence })).kind, 'unknown');
    },
  );

  holds(
    'INV-EF3: absent is believed only from ambiguous, and only after the settle window',
    async (fixture) => {
      const { ledger } = fixture;
      await attempted(fixture);
      assert.equal((await ledger.absent({ key, tries: 1, evidence, settleMs: 0 })).kind, 'unchanged');
      written(await ledger.ambiguous({ key, tries: 1, detail: 'time-out' }), 'ambiguous');
      const early = await ledger.absent({ key, tries: 1, evidence, settleMs: HOUR_MS });
      assert.ok(early.kind === 'too-early');
      assert.ok(early.remainingMs > 0 && early.remainingMs <= HOUR_MS);
      assert.equal((await ledger.find(key))?.state, 'ambiguous');
      assert.equal((await ledger.absent({ key, tries: 1, evidence, settleMs: 0 })).kind, 'written');
      const again = await ledger.attempt({ key, fence: fixture.fence });
      assert.ok(again.kind === 'go');
      assert.equal(again.operation.tries, 2);
    },
  );

  holds(
    'a late report about an older attempt changes nothing, evidence of success excepted',
    async (fixture) => {
      const { ledger } = fixture;
      await attempted(fixture);
      await ledger.ambiguous({ key, tries: 1, detail: 'time-out' });
      await ledger.absent({ key, tries: 1, evidence, settleMs: 0 });
      await ledger.attempt({ key, fence: fixture.fence });
      unchanged(await ledger.ambiguous({ key, tries: 1, detail: 'late' }), 'attempted');
      unchanged(await ledger.conflicted({ key, tries: 1, detail: 'late' }), 'attempted');
      unchanged(await ledger.abandoned({ key, tries: 1, detail: 'late' }), 'attempted');
      assert.equal((await ledger.absent({ key, tries: 1, evidence, settleMs: 0 })).kind, 'unchanged');
      written(await ledger.confirm(confirmation), 'confirmed');
    },
  );

  holds('evidence of success is welcome after absent', async (fixture) => {
    await attempted(fixture);
    await fixture.ledger.ambiguous({ key, tries: 1, detail: 'time-out' });
    await fixture.ledger.absent({ key, tries: 1, evidence, settleMs: 0 });
    written(await fixture.ledger.confirm(confirmation), 'confirmed');
  });

  for (const state of ['conflicted', 'abandoned'] as const) {
    holds(`what is ${state} stays so, with its detail`, async (fixture) => {
      await attempted(fixture);
      written(await fixture.ledger[state]({ key, tries: 1, detail: 'the reason' }), state);
      unchanged(await fixture.ledger.confirm(confirmation), state);
      assert.equal((await fixture.ledger.attempt({ key, fence: fixture.fence })).kind, 'not-needed');
      assert.equal((await fixture.ledger.find(key))?.detail, 'the reason');
    });
  }

  holds('INV-EF4: a superseded claimant may still report the one call it had in flight', async (fixture) => {
    await attempted(fixture);
    await fixture.takeOver();
    written(await fixture.ledger.confirm(confirmation), 'confirmed');
  });

  return cases;
}

const fresh = { key: 'push:conformance-second', kind: 'push', intent } as const;

const intend = (fixture: LedgerFixture, fence: OperationFence) =>
  fixture.ledger.intend({ key, kind: 'push', fence, intent });

async function intended(fixture: LedgerFixture): Promise<Operation> {
  const result = await intend(fixture, fixture.fence);
  assert.ok(result.kind === 'intended', `expected intended, got ${result.kind}`);
  return result.operation;
}

async function attempted(fixture: LedgerFixture): Promise<Operation> {
  await intended(fixture);
  const result = await fixture.ledger.attempt({ key, fence: fixture.fence });
  assert.ok(result.kind === 'go', `expected go, got ${result.kind}`);
  return result.operation;
}

function written(result: ReportResult, state: Operation['state']): void {
  assert.equal(result.kind, 'written');
  assert.equal(result.operation.state, state);
}

function unchanged(result: ReportResult, state: Operation['state']): void {
  assert.equal(result.kind, 'unchanged');
  assert.equal(result.operation.state, state);
}
