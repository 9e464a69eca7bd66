/** I15: what our own runs pushed asks for nothing, whoever tells of it, and before any route is asked. */
import { seals } from '@headgate/store';
import { armFailPoint, disarmAllFailPoints } from '@headgate/telemetry';
import { aSeal, claimRun, seedRun } from '@headgate/testkit';
import { afterEach, describe, expect, test } from 'vitest';
import { aForge, type Forge } from './forge.js';

afterEach(disarmAllFailPoints);

const HOOKED =
  'kind: github, token: "file:FOLDER/token", baseUrl: "API", webhookSecrets: [ "file:FOLDER/secret" ], scan: { every: 30s }';
const OURS = 'agent/task_x/run_x';

/** Sealed first, then pushed, as a worker does; the push is not yet confirmed: its echo may be quicker. */
async function pushOurs(forge: Forge, branch = OURS): Promise<string> {
  const { world, git } = forge;
  const run = await seedRun(world.db, { tenant: world.tenant, workKey: `for ${branch}` });
  const lease = await claimRun(world.db, run);
  const sha = await git.commit({ branch: 'elsewhere', files: { [branch]: 'mended' } });
  await git.deleteBranch('elsewhere');
  await seals.put(world.db.service, lease.fence, lease.attemptId, aSeal({ commitSha: sha }), null);
  await git.setBranch(branch, sha);
  return sha;
}

const OWN = { reasonCode: 'SELF_TRIGGERED', rule: 'loop-guard.own-commit' };

const told = (forge: Forge) =>
  forge.world.rows<{ reasonCode: string; rule: string; via: string; inputVersion: string }>(
    `select reason_code as "reasonCode", rule, via, input_version as "inputVersion"
       from headgate.receipt where kind = 'decision' and type like '%.push' order by id`,
  );

describe.each([
  ['git', 'kind: git', 'git.push'],
  ['github', undefined, 'github.push'],
])('a look at %s', (_kind, source, type) => {
  const options = (routes: string) => ({ ...(source === undefined ? {} : { source }), routes });

  test.each([
    ['no route takes the branch', `\n  pushes: { on: [ ${type} ], branches: [ "feature/*" ] }\n`],
    ['two routes take it', `\n  one: { on: [ ${type} ] }\n  two: { on: [ ${type} ] }\n`],
  ])('finds our own push: one receipt for it however often it looks (%s)', async (_why, routes) => {
    const forge = await aForge(options(routes));
    await forge.look();
    const runs = await forge.runs();
    const sha = await pushOurs(forge);
    await forge.look();
    await forge.look();
    expect(await told(forge)).toMatchObject([{ ...OWN, via: 'poll', inputVersion: sha }]);
    expect(await forge.runs()).toBe(runs + 1);
  });

  test('a push of somebody else stays what it is', async () => {
    const forge = await aForge(options(`\n  pushes: { on: [ ${type} ], branches: [ "feature/*" ] }\n`));
    await forge.look();
    await pushOurs(forge);
    await forge.git.commit({ branch: 'theirs', files: { 'a.txt': 'a' } });
    await forge.git.commit({ branch: 'feature/a', files: { 'a.txt': 'a' } });
    await forge.look();
    const codes = (await told(forge)).map(({ reasonCode }) => reasonCode);
    expect(codes.sort()).toEqual(['ADMITTED', 'OUT_OF_SCOPE', 'SELF_TRIGGERED']);
  });

  test('a process that dies after its look leaves the one receipt to the next', async () => {
    const forge = await aForge(options(`\n  pushes: { on: [ ${type} ], branches: [ "feature/*" ] }\n`));
    await forge.look();
    await pushOurs(forge);
    armFailPoint('scan.admitted', 'throw');
    await forge.look();
    expect(await told(forge)).toEqual([]);
    disarmAllFailPoints();
    await forge.world.rows('update headgate.watermark set claimed_until = clock_timestamp()');
    await forge.look(forge.world.reconciler());
    expect(await told(forge)).toMatchObject([OWN]);
  });
});

describe('a hook', () => {
  const ROUTES = '\n  pushes: { on: [ github.push ], branches: [ "feature/*" ] }\n';

  test('tells of our own push: SELF_TRIGGERED, before it is out of scope', async () => {
    const forge = await aForge({ source: HOOKED, routes: ROUTES });
    await forge.look();
    const sha = await pushOurs(forge);
    const answer = await forge.hook('push', {
      ref: `refs/heads/${OURS}`,
      before: '0'.repeat(40),
      after: sha,
      sender: { id: 5, login: 'ada', type: 'User' },
    });
    expect(answer).toMatchObject({ outcome: 'reject', reasonCode: 'SELF_TRIGGERED', runId: null });
    // Beside a hook, what no route takes is not told again by the scan.
    await forge.look();
    expect(await told(forge)).toMatchObject([{ ...OWN, via: 'webhook' }]);
    expect(await forge.world.rows('select 1 from headgate.target_touch')).toEqual([]);
  });

  test('that brought our own push is not called silent for it', async () => {
    const forge = await aForge({ source: HOOKED, routes: '\n  pushes: { on: [ github.push ] }\n' });
    await forge.look();
    const sha = await pushOurs(forge);
    forge.repository.pushedAt = new Date(Date.now() - 600_000).toISOString();
    await forge.hook('push', { ref: `refs/heads/${OURS}`, before: '0'.repeat(40), after: sha });
    await forge.look();
    await forge.look();
    const receipts = await told(forge);
    expect(receipts.map(({ reasonCode, via }) => [reasonCode, via])).toEqual([
      ['SELF_TRIGGERED', 'webhook'],
      ['SELF_TRIGGERED', 'scan'],
    ]);
    expect(await forge.watermark()).toMatchObject({ silentCount: 0, silentSince: null });
  });
});
