/** From a signed webhook to the verdict before the lease, with nothing left out: what GitHub says then decides. */
import { expect, test } from 'vitest';
import { aWholeWorker } from '../world/whole-worker.js';

const TEST_MS = 120_000;

test(
  'I6, I7: before a lease permission, head and state are read live: who may write runs, the others end without an attempt',
  async () => {
    const forge = await aWholeWorker();
    const { git, repository, failedCheck, reaches } = forge;
    const fresh = await forge.aPull(1);
    const outsider = await forge.aPull(2, { author: 'eve' });
    repository.permissions.set('eve', 'read');
    const moved = await forge.aPull(3);
    await git.commit({ branch: 'topic-3', files: { 'later.txt': 'later' } });
    const closed = await forge.aPull(4);
    closed.pull.state = 'closed';
    const lagging = await forge.aPull(5, { recordedHead: 'f'.repeat(40) });
    const mended = await forge.aPull(6);
    const [check] = repository.checkRuns.filter(({ headSha }) => headSha === mended.sha);
    if (check !== undefined) check.fields = { ...check.fields, conclusion: 'success' };

    const shas = [fresh, outsider, moved, closed, lagging, mended].map(({ sha }) => sha);
    const answers = await Promise.all(shas.map((sha, at) => failedCheck(at + 1, sha)));

    // Intake asks nobody, so it lets all of them in.
    expect(answers.map(({ reasonCode }) => reasonCode)).toEqual(shas.map(() => 'ADMITTED'));
    expect(await reaches(2, 'POLICY_DENIED')).toMatchObject({ reasonCode: 'ACTOR_NOT_ALLOWED', attempts: 0 });
    expect(await reaches(3, 'NO_WORK')).toMatchObject({ reasonCode: 'STALE_INPUT', attempts: 0 });
    expect(await reaches(4, 'NO_WORK')).toMatchObject({ reasonCode: 'TARGET_CLOSED', attempts: 0 });
    expect(await reaches(5, 'WAITING_CAPACITY')).toMatchObject({
      reasonCode: 'SOURCE_DISAGREES',
      attempts: 0,
    });
    expect(await reaches(6, 'NO_WORK')).toMatchObject({ reasonCode: 'STALE_INPUT', attempts: 0 });
    expect(await reaches(1, 'SUCCEEDED')).toMatchObject({ attempts: 1 });
    const pushed = (await git.pushes()).map(({ ref }) => ref);
    expect(pushed).toEqual([expect.stringMatching(/^refs\/heads\/agent\/task_[0-9a-z]{26}\/run_/)]);
  },
  TEST_MS,
);

test(
  'I7: a repository takes no more work of ours than its open pull requests allow; a branch that is deleted frees its place',
  async () => {
    const forge = await aWholeWorker(', maxOpenPullRequests: 1');
    const first = await forge.aPull(1);
    const second = await forge.aPull(2);
    expect(await forge.failedCheck(1, first.sha)).toMatchObject({ reasonCode: 'ADMITTED' });
    await forge.reaches(1, 'SUCCEEDED');
    expect(await forge.failedCheck(2, second.sha)).toMatchObject({
      outcome: 'defer',
      reasonCode: 'OPEN_PULL_REQUEST_LIMIT',
    });
    expect(await forge.run(2)).toBeUndefined();

    const [push] = await forge.git.pushes();
    const ref = push?.ref.slice('refs/heads/'.length) ?? '';
    await forge.hook('delete', { ref, ref_type: 'branch' });
    expect(await forge.failedCheck(2, second.sha)).toMatchObject({ reasonCode: 'ADMITTED' });
    await forge.reaches(2, 'SUCCEEDED');
  },
  TEST_MS,
);
