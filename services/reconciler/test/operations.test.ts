/** INV-EF3: the outcome of a call that nobody reported is read from the forge; nothing is called again. */
import { systemIds } from '@headgate/domain';
import { pushIntentData } from '@headgate/effects';
import { createLedger } from '@headgate/store';
import { BareRepository, claimRun, finishRun, seedRun, temporaryDataFolder } from '@headgate/testkit';
import { expect, test } from 'vitest';
import { aWorld, type World } from './world.js';

const MISSING = 'f'.repeat(40);

/** A run that ended after its push was attempted, and before anybody heard of it. */
async function cutOff(world: World, intent: Parameters<typeof pushIntentData>[0], key: string) {
  const run = await seedRun(world.db, { tenant: world.tenant });
  const lease = await claimRun(world.db, run);
  const { fence } = lease;
  const { id: tenantId } = world.tenant;
  const ledger = createLedger(world.db.service, { tenantId, ids: systemIds, actor: 'applier' });
  await ledger.intend({ key, kind: 'push', fence, intent: pushIntentData(intent) });
  await ledger.attempt({ key, fence });
  await finishRun(world.db, lease, {
    kind: 'failed',
    reasonCode: 'SETUP_FAILED',
    detail: null,
    retryAfterMs: null,
  });
  return run;
}

const both = async (world: World): Promise<void> => {
  const timing = { settleMs: 0, operationReadMs: 0 };
  for (const _round of [1, 2]) {
    await Promise.all([
      world.reconciler(timing).round('unknown-operations'),
      world.reconciler(timing).round('unknown-operations'),
    ]);
  }
};

test('Q9, Q25: done, not done and overtaken are told apart by reading, each once, and no ref is touched', async () => {
  const world = await aWorld();
  const bare = await BareRepository.create();
  const remoteUrl = bare.path;
  const head = await bare.head();
  if (head === null) throw new Error('the repository is empty');
  const done = await bare.commit({ branch: 'agent/done', files: { 'a.txt': 'a' } });
  await bare.commit({ branch: 'agent/other', files: { 'b.txt': 'b' } });
  const intent = { remoteUrl, expectedOldSha: null };
  const runs = {
    done: await cutOff(world, { ...intent, ref: 'refs/heads/agent/done', commitSha: done }, 'push/done'),
    absent: await cutOff(world, { ...intent, ref: 'refs/heads/agent/no', commitSha: MISSING }, 'push/absent'),
    other: await cutOff(
      world,
      { ...intent, ref: 'refs/heads/agent/other', commitSha: MISSING },
      'push/other',
    ),
  };
  const before = { refs: await bare.refs(), pushes: (await bare.pushes()).length };
  await both(world);
  const rows = await world.rows<Record<string, unknown>>(
    'select key, state, tries from headgate.operation order by key',
  );
  expect(rows).toEqual([
    { key: 'push/absent', state: 'absent', tries: 1 },
    { key: 'push/done', state: 'confirmed', tries: 1 },
    { key: 'push/other', state: 'conflicted', tries: 1 },
  ]);
  for (const [name, run] of Object.entries(runs)) {
    const told = await world.repairs({ runId: run.runId });
    expect(told, name).toMatchObject([{ reasonCode: 'REPAIR_OPERATION_RESOLVED' }]);
  }
  expect({ refs: await bare.refs(), pushes: (await bare.pushes()).length }).toEqual(before);
});

test('INV-EF3: "absent" is not believed before the settle window is over, and an unreadable remote decides nothing', async () => {
  const world = await aWorld();
  const bare = await BareRepository.create();
  const intent = { ref: 'refs/heads/agent/no', commitSha: MISSING, expectedOldSha: null };
  await cutOff(world, { ...intent, remoteUrl: bare.path }, 'push/young');
  await cutOff(world, { ...intent, remoteUrl: temporaryDataFolder() }, 'push/unreadable');
  await world.reconciler({ operationReadMs: 0 }).round('unknown-operations');
  expect(await world.rows('select key, state from headgate.operation order by key')).toEqual([
    { key: 'push/unreadable', state: 'ambiguous' },
    { key: 'push/young', state: 'ambiguous' },
  ]);
  expect(await world.repairs()).toEqual([]);
});

test('an operation of a run that lives is its holder’s, and is not read', async () => {
  const world = await aWorld();
  const run = await seedRun(world.db, { tenant: world.tenant });
  const { fence } = await claimRun(world.db, run);
  const ledger = createLedger(world.db.service, {
    tenantId: world.tenant.id,
    ids: systemIds,
    actor: 'applier',
  });
  const intent = pushIntentData({
    remoteUrl: '/nowhere',
    ref: 'refs/heads/a',
    commitSha: MISSING,
    expectedOldSha: null,
  });
  await ledger.intend({ key: 'push/mine', kind: 'push', fence, intent });
  await ledger.attempt({ key: 'push/mine', fence });
  await both(world);
  expect(await world.rows('select state from headgate.operation')).toEqual([{ state: 'attempted' }]);
});
