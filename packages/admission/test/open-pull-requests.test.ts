import { formatId, type TaskId } from '@headgate/domain';
import { publicationPlaces } from '@headgate/store';
import { describe, expect, it } from 'vitest';
import { claimRuns, dispatchedItems, finishRun } from '../../../test/world/claims.js';
import { CHECKS, policyFrom } from '../../../test/world/policy.js';
import { anotherTarget, aSignal, sha, submissionOf } from '../../../test/world/signals.js';
import { aDispatcher, anAdmission, aWorker, aWorld, type World } from '../../../test/world/world.js';

const limitedTo = async (limit: number) => {
  const world = await aWorld(await policyFrom(`${CHECKS}    maxOpenPullRequests: ${limit}\n`));
  return { world, ...anAdmission(world) };
};

/** Runs what is ready to its end; with `published` its branch was pushed and confirmed. */
async function runAll(world: World, published: boolean): Promise<void> {
  const worker = await aWorker(world, 8);
  const dispatcher = aDispatcher(world);
  await dispatcher.scan();
  await dispatcher.turn({ wait: true });
  for (const run of await claimRuns(world, worker, await dispatchedItems(world))) {
    if (published) {
      await world.sql(
        `insert into headgate.operation (id, tenant_id, key_hash, key, kind, state, run_id, task_id, fencing_token,
                                         lease_id, intent, settled_at)
         select gen_random_uuid(), r.tenant_id, sha256(r.id::text::bytea), r.id::text, 'push', 'confirmed', r.id,
                r.task_id, 1, gen_random_uuid(), '{}', now() from headgate.run r where r.id = $1`,
        [run.runId],
      );
    }
    await finishRun(world, run);
  }
}

const closing = (taskId: TaskId, action: 'closed' | 'reopened', isFork = false) =>
  aSignal({
    type: `github.pull_request.${action}`,
    data: {
      pull_request: {
        head: {
          ref: `agent/${formatId('task', taskId)}/run_01k3v0m4k8e7zv6n4x5q2w1r0t`,
          repo: { id: isFork ? 7 : 42 },
        },
      },
      repository: { id: 42 },
    },
  });

describe('open pull requests of ours', () => {
  it('Q23: above the limit of the repository work is put off, also by runs that may still open one', async () => {
    const { world, admission } = await limitedTo(2);
    const answers = [];
    for (const n of [1, 2, 3]) answers.push(await admission.submit(submissionOf(anotherTarget(n))));
    expect(answers.map(({ reasonCode }) => reasonCode)).toEqual([
      'ADMITTED',
      'ADMITTED',
      'OPEN_PULL_REQUEST_LIMIT',
    ]);
    expect(answers[2]).toMatchObject({ outcome: 'defer', message: expect.stringContaining('(2 of 2)') });
    const [receipt] = await world.sql<{ rule: string }>(
      "select rule from headgate.receipt where reason_code = 'OPEN_PULL_REQUEST_LIMIT'",
    );
    expect(receipt?.rule).toBe('route.maxOpenPullRequests');
  });

  it('Q23: counted from what exists: a run that published nothing gives its place back, a published one keeps it', async () => {
    const { world, admission } = await limitedTo(1);
    await admission.submit(submissionOf(anotherTarget(1)));
    await runAll(world, false);
    const second = await admission.submit(submissionOf(anotherTarget(2)));
    expect(second.reasonCode).toBe('ADMITTED');
    await runAll(world, true);
    expect(await admission.submit(submissionOf(anotherTarget(3)))).toMatchObject({
      reasonCode: 'OPEN_PULL_REQUEST_LIMIT',
    });
    // A newer version of the published work updates the pull request that is there.
    const newer = { ...anotherTarget(2), inputVersion: sha('b') };
    expect(await admission.submit(submissionOf(newer))).toMatchObject({ reasonCode: 'ADMITTED' });
  });

  it('Q23: a closed pull request frees its place, a reopened one takes it again; a fork’s branch says nothing', async () => {
    const { world, admission } = await limitedTo(1);
    const first = await admission.submit(submissionOf(anotherTarget(1)));
    if (first.taskId === null) throw new Error('no task');
    await runAll(world, true);
    const held = async () => {
      const [place] = await world.sql<{ repository_id: number }>(
        'select repository_id from headgate.publication_place',
      );
      const id = place?.repository_id ?? 0;
      return (await world.database.service.use((c) => publicationPlaces.held(c, [id]))).get(id) ?? 0;
    };
    const tell = (signal: ReturnType<typeof closing>) =>
      admission.submit({ signal, tenant: 'default', payload: null });

    expect(await held()).toBe(1);
    await tell(closing(first.taskId, 'closed', true));
    expect(await held()).toBe(1);
    await tell(closing(first.taskId, 'closed'));
    expect(await held()).toBe(0);
    await tell(closing(first.taskId, 'reopened'));
    expect(await held()).toBe(1);
    await tell(closing(first.taskId, 'closed'));
    expect(await admission.submit(submissionOf(anotherTarget(2)))).toMatchObject({ reasonCode: 'ADMITTED' });
  });

  it('SQL rule 4: two admissions at once never take the same free place', async () => {
    const { world } = await limitedTo(3);
    const admissions = Array.from({ length: 6 }, () => anAdmission(world).admission);
    const answers = await Promise.all(
      admissions.flatMap((admission, n) => [
        admission.submit(submissionOf(anotherTarget(n * 2))),
        admission.submit(submissionOf(anotherTarget(n * 2 + 1))),
      ]),
    );
    expect(answers.filter(({ reasonCode }) => reasonCode === 'ADMITTED')).toHaveLength(3);
    expect(answers.filter(({ reasonCode }) => reasonCode === 'OPEN_PULL_REQUEST_LIMIT')).toHaveLength(9);
  });
});
