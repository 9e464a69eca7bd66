/** Runs that wait for a person, before and after their work; and one whose first worker fell silent, as a demo leaves it. */
import { formatId, systemIds } from '@headgate/domain';
import { createLedger, reap } from '@headgate/store';
import {
  aProposedPush,
  aRoute,
  claimRun,
  expireLease,
  finishRun,
  proposedRun,
  type SeededProposal,
  type SeededRun,
  seedRun,
} from '@headgate/testkit';
import { aConsole, aTwoTenantPolicy, type TestConsole } from '../../services/console/test/a-console.js';
import { admitted, deliver } from '../../services/console/test/seeds.js';

export const DEMO = 'demo-delivery';
export const DELIVERIES = 20;
const DEMO_EVENT = 'github.workflow_run.completed';

export interface WordsStory {
  readonly test: TestConsole;
  readonly proposals: readonly SeededProposal[];
  readonly admission: SeededRun;
  /** The demo's run. */
  readonly taken: string;
}

export async function aWordsStory(): Promise<WordsStory> {
  const demo = aRoute({ id: 'demo-break', on: [{ kind: 'event', type: DEMO_EVENT }] });
  const test = await aConsole({
    policy: aTwoTenantPolicy({ routes: [...aTwoTenantPolicy().routes, demo] }),
  });
  const { store, tenant } = test;
  const proposals: SeededProposal[] = [];
  for (let n = 0; n < 2; n += 1) {
    const operations = [aProposedPush({ ref: 'refs/heads/agent/fix-add' })];
    proposals.push(await proposedRun(store, { tenant }, { operations }));
  }
  const admission = await seedRun(store, { tenant, status: 'WAITING_APPROVAL' });
  return { test, proposals, admission, taken: await takenOver(test) };
}

/** One event twenty times; its worker is killed after four heartbeats, the next one pushes. */
async function takenOver(test: TestConsole): Promise<string> {
  const { store } = test;
  const signal = { type: DEMO_EVENT, eventId: DEMO };
  const run = await admitted(test, signal);
  for (let n = 1; n < DELIVERIES; n += 1) await deliver(test, signal);
  await claimRun(store, run);
  await store.service.use(async (c) => {
    await c.query(
      `update headgate.lease set acquired_at = clock_timestamp() - interval '50 seconds', renewals = 4,
              renewed_at = clock_timestamp() - interval '20 seconds' where run_id = $1`,
      [run.runId],
    );
    // It waited for an hour before: the timeline cuts that short.
    await c.query(
      `update headgate.run_event set at = at - interval '1 hour'
        where run_id = $1 and reason_code = 'ADMITTED'`,
      [run.runId],
    );
    await c.query(
      "update headgate.attempt set started_at = clock_timestamp() - interval '50 seconds' where run_id = $1",
      [run.runId],
    );
  });
  await expireLease(store, run.runId);
  await reap(store.service, { limit: 10, graceMs: 1, random: () => 0, actor: 'reconciler' });
  await store.service.use((c) =>
    c.query("update headgate.queue_item set state = 'ready', waits = null where run_id = $1", [run.runId]),
  );
  const second = await claimRun(store, run);
  const { fence } = second;
  const ledger = createLedger(store.service, {
    tenantId: test.tenant.id,
    ids: systemIds,
    actor: 'applier',
  });
  await ledger.intend({ key: 'push:demo', kind: 'push', fence, intent: { branch: 'agent/demo' } });
  await ledger.attempt({ key: 'push:demo', fence });
  await ledger.confirm({ key: 'push:demo', externalId: 'd'.repeat(40), url: null, evidence: {} });
  await finishRun(store, second, { kind: 'succeeded', reasonCode: 'SUCCEEDED' });
  return formatId('run', run.runId);
}
