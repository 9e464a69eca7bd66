/** What a payload leaves out is read at the forge, after the answer and before a decision. */
import { expect, test } from 'vitest';
import { aForgeWorld } from './forge-world.js';

const FORK_HEAD = 'd'.repeat(40);
const ASK = '/agent fix the tests';
const at = (day: number): string => `2026-02-0${day}T00:00:00Z`;
const aFork = (pushedAt: string) => ({ id: 99, fullName: 'eve/api', headSha: FORK_HEAD, pushedAt });

test('I4: a command on a pull request waits for its head; the promotion has a receipt of its own', async () => {
  const { world, comment, receipts, sha } = await aForgeWorld();
  const first = await comment({ id: 1, body: ASK });
  expect(first).toMatchObject({ outcome: 'defer', reasonCode: 'HEAD_UNRESOLVED', runId: null });
  // Its time alone promotes nothing.
  await world.reconciler({ lateMs: 0 }).round('overdue-signals');
  expect(await receipts()).toHaveLength(1);

  await Promise.all([
    world.reconciler().round('unresolved-heads'),
    world.reconciler().round('unresolved-heads'),
  ]);
  const [deferred, promoted, ...others] = await receipts();
  expect(others).toEqual([]);
  expect(promoted).toMatchObject({
    outcome: 'accept',
    reasonCode: 'ADMITTED',
    parent: deferred?.id,
    inputVersion: sha,
    workKey: '42/pr/7',
  });
  expect(await world.rows('select 1 from headgate.deferred_signal')).toEqual([]);
  expect(await world.rows('select 1 from headgate.run')).toHaveLength(1);
});

test('I4: the label that a command causes is the same piece of work', async () => {
  const { world, comment, receipts } = await aForgeWorld();
  await comment({ id: 1, body: ASK });
  await comment({ id: 1, body: ASK });
  await world.reconciler().round('unresolved-heads');
  const codes = (await receipts()).map((receipt) => receipt.reasonCode);
  expect(codes).toEqual(['HEAD_UNRESOLVED', 'DUPLICATE_HOOK', 'ADMITTED']);
});

test('a command on a fork is pinned to what its writer saw: pushed to since, they comment again', async () => {
  const moved = await aForgeWorld(aFork(at(3)));
  await moved.comment({ id: 1, body: ASK, createdAt: at(2) });
  await moved.world.reconciler().round('unresolved-heads');
  const [, refused] = await moved.receipts();
  expect(refused).toMatchObject({ outcome: 'reject', reasonCode: 'STALE_INPUT' });
  expect(refused?.message).toContain('comment again');
  expect(await moved.world.rows('select 1 from headgate.run')).toEqual([]);

  const seen = await aForgeWorld(aFork(at(1)));
  await seen.comment({ id: 1, body: ASK, createdAt: at(2) });
  await seen.world.reconciler().round('unresolved-heads');
  expect((await seen.receipts())[1]).toMatchObject({ reasonCode: 'ADMITTED', inputVersion: FORK_HEAD });
});

test('a check on a fork’s commit is resolved to its pull request, or refused with what was found', async () => {
  const { world, check, receipts } = await aForgeWorld(aFork(at(1)));
  const run = (headSha: string) => ({
    name: 'unit',
    head_sha: headSha,
    conclusion: 'failure',
    completed_at: at(2),
    pull_requests: [],
    check_suite: { head_branch: null, created_at: at(2) },
  });
  expect((await check(run(FORK_HEAD))).reasonCode).toBe('HEAD_UNRESOLVED');
  expect((await check(run('e'.repeat(40)))).reasonCode).toBe('HEAD_UNRESOLVED');
  await world.reconciler().round('unresolved-heads');
  const decided = (await receipts()).slice(2);
  expect(decided.map(({ reasonCode }) => reasonCode).sort()).toEqual(['ADMITTED', 'HEAD_UNRESOLVED']);
  expect(decided.find((one) => one.reasonCode === 'ADMITTED')).toMatchObject({
    workKey: '42/pr/7/check/unit',
    inputVersion: FORK_HEAD,
  });
  expect(decided.find((one) => one.reasonCode === 'HEAD_UNRESOLVED')).toMatchObject({
    outcome: 'reject',
    message: expect.stringContaining('No pull request has'),
  });
});

test('a forge that does not answer puts it off; closed in the meantime there is nothing to do', async () => {
  const { world, comment, receipts, github, pull } = await aForgeWorld();
  await comment({ id: 1, body: ASK });
  github.failNext({ fault: { kind: 'bad-gateway', when: 'before' }, count: 3 });
  await world.reconciler().round('unresolved-heads');
  expect(await receipts()).toHaveLength(1);
  const [waiting] = await world.rows<{ tries: number; later: boolean }>(
    'select tries, due_at > clock_timestamp() as later from headgate.deferred_signal',
  );
  expect(waiting).toEqual({ tries: 1, later: true });

  pull.state = 'closed';
  await world.rows('update headgate.deferred_signal set due_at = clock_timestamp()');
  await world.reconciler().round('unresolved-heads');
  expect((await receipts())[1]).toMatchObject({ outcome: 'no-work', reasonCode: 'TARGET_CLOSED' });
});
