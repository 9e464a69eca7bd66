import { formatId, type RunSpec } from '@headgate/domain';
import { chooseSandbox, PidNamespace, ProcessGroup } from '@headgate/runtimes';
import { approvals, dueItems } from '@headgate/store';
import { armFailPoint } from '@headgate/telemetry';
import { aRoute, atEnd, eventually, type SeededRun, say, someLimits } from '@headgate/testkit';
import { describe, expect, it } from 'vitest';
import { DEFECT, eventsOf, exampleAgent, rowsOf, type Workshop, workshop } from './workshop.js';

const attemptsOf = (shop: Workshop, run: SeededRun) =>
  rowsOf<{ number: number; status: string; reasonCode: string; evidence: Record<string, unknown> }>(
    shop,
    'select number, status, reason_code as "reasonCode", evidence from headgate.attempt where run_id = $1 order by number',
    [run.runId],
  );
const artifactsOf = async (shop: Workshop, run: SeededRun) =>
  (
    await rowsOf<{ name: string }>(
      shop,
      'select name from headgate.artifact where run_id = $1 order by name',
      [run.runId],
    )
  ).map((row) => row.name);
const requestOf = (shop: Workshop, run: SeededRun) => shop.db.service.use((c) => approvals.of(c, run.runId));
const branchOf = (run: SeededRun) => `agent/${formatId('task', run.taskId)}/${formatId('run', run.runId)}`;

/** One attempt, no retry, so that its reason is the run's end. */
const ONCE = { maxAttempts: 1, maxInfrastructure: 1, maxLeaseLost: 1, backoffMs: [10] };

describe('how attempts end', () => {
  it('an agent that changes nothing ends SUCCEEDED with NO_CHANGE, and nothing is pushed', async () => {
    const shop = await workshop();
    await shop.worker();
    const clean = await shop.repository.commit({
      files: Object.fromEntries(Object.keys(DEFECT).map((name) => [name, null])),
    });
    const run = await shop.offer({}, { inputVersion: clean });
    await shop.reaches(run.runId, 'SUCCEEDED');
    expect(await shop.status(run.runId)).toMatchObject({ reasonCode: 'NO_CHANGE' });
    expect(await shop.repository.pushes()).toEqual([]);
  });

  it('Q6, Q8, Q17: each way an attempt can fail has its reason code, keeps its log, and pushes nothing', async () => {
    const shop = await workshop();
    await shop.worker({ slots: 4 });
    const agentWith = (env: Record<string, string>) => ({ agent: exampleAgent(env) });
    const cases: readonly [Partial<RunSpec>, string, string][] = [
      [agentWith({ HEADGATE_EXAMPLE_MODE: 'fail' }), 'AGENT_FAILED', 'agent.log'],
      [
        { ...agentWith({ HEADGATE_EXAMPLE_MODE: 'hang' }), limits: someLimits({ silenceMs: 1_500 }) },
        'SILENCE_TIMEOUT',
        'agent.log',
      ],
      [
        { ...agentWith({ HEADGATE_EXAMPLE_SLEEP_MS: '60000' }), limits: someLimits({ wallClockMs: 1_500 }) },
        'WALL_CLOCK_EXCEEDED',
        'agent.log',
      ],
      [
        { ...agentWith({ HEADGATE_EXAMPLE_MODE: 'noisy' }), limits: someLimits({ outputBytes: 20_000 }) },
        'OUTPUT_LIMIT',
        'agent.log',
      ],
      [{ agent: { ...exampleAgent(), command: ['no-such-program'] } }, 'SANDBOX_FAILED', ''],
      [{ setup: ['true', 'exit 3'] }, 'SETUP_FAILED', 'setup-2.log'],
      [{ verify: ['true', 'exit 4'] }, 'VERIFIER_FAILED', 'verify-2.log'],
      [{ verify: ['sleep 60'], limits: someLimits({ verifyMs: 1_500 }) }, 'VERIFIER_FAILED', 'verify.log'],
      [{ protectedPaths: ['src/**'] }, 'PROTECTED_PATH', 'agent.log'],
      [{ paths: ['docs/**'] }, 'OUT_OF_SCOPE', 'agent.log'],
      [{ limits: someLimits({ diffLines: 1 }) }, 'OUTPUT_LIMIT', 'agent.log'],
    ];
    const offered: (readonly [SeededRun, string, string])[] = [];
    for (const [spec, reasonCode, artifact] of cases) {
      offered.push([await shop.offer({ ...spec, retry: ONCE }), reasonCode, artifact]);
    }
    for (const [run, reasonCode, artifact] of offered) {
      await shop.reaches(run.runId, 'FAILED', 60_000);
      const [attempt] = await attemptsOf(shop, run);
      expect(attempt).toMatchObject({ number: 1, status: 'failed', reasonCode });
      if (artifact !== '') expect(await artifactsOf(shop, run)).toContain(artifact);
    }
    expect(await shop.repository.pushes()).toEqual([]);
    const [seals] = await rowsOf<{ count: number }>(shop, 'select count(*)::int from headgate.seal');
    expect(seals?.count).toBe(0);
  }, 120_000);

  it('a commit that the remote no longer has ends NO_WORK, and costs no agent', async () => {
    const shop = await workshop();
    // Judged fresh by a reader that is wrong: the commit is in no history.
    const gone = 'd'.repeat(40);
    await shop.worker({
      reader: { readHead: async () => ({ kind: 'head', sha: gone, observedAt: new Date() }) },
    });
    const run = await shop.offer({}, { inputVersion: gone });
    await shop.reaches(run.runId, 'NO_WORK');
    expect(await shop.status(run.runId)).toMatchObject({ reasonCode: 'STALE_INPUT' });
    expect(await eventsOf(shop, run.runId)).not.toContain('run.running');
  });

  it('work without a repository is refused with TASK_CONTRACT_INVALID', async () => {
    const shop = await workshop();
    await shop.worker();
    const run = await shop.offer({ repository: null, target: null }, { inputVersion: 'issue-7' });
    await shop.reaches(run.runId, 'FAILED');
    expect(await shop.status(run.runId)).toMatchObject({ reasonCode: 'TASK_CONTRACT_INVALID' });
  });

  it('a version that is no commit begins where the target stood at the verdict', async () => {
    const shop = await workshop();
    await shop.worker();
    const run = await shop.offer({}, { inputVersion: 'sha256:of-an-issue' });
    await shop.reaches(run.runId, 'SUCCEEDED');
    const [commit] = await shop.repository.history(branchOf(run));
    expect(commit?.parents).toEqual([shop.headSha]);
  });

  it('NO_ISOLATION: a user’s own agent waits for a worker that isolates, and is never started', async () => {
    const shop = await workshop();
    await shop.worker({ sandbox: await chooseSandbox([new PidNamespace(), new ProcessGroup()]) });
    const run = await shop.offer({ agent: { ...exampleAgent(), trustedExample: false } });
    await shop.reaches(run.runId, 'WAITING_CAPACITY');
    expect(await shop.status(run.runId)).toMatchObject({ reasonCode: 'NO_ISOLATION' });
    expect(await attemptsOf(shop, run)).toEqual([]);
  });
});

describe('what is published', () => {
  const proposing = { routes: [aRoute({ verify: [], mode: 'propose' })] };

  it('mode propose: the result is sealed and waits for a person; released, it is pushed without a second agent', async () => {
    const shop = await workshop({
      policy: { ...proposing },
    });
    await shop.worker();
    const run = await shop.offer({ mode: 'propose' });
    await shop.reaches(run.runId, 'WAITING_APPROVAL');
    expect(await shop.repository.pushes()).toEqual([]);
    expect(await artifactsOf(shop, run)).toEqual(['agent.log', 'changes.patch']);

    expect(await say(shop.db, run, 'publish')).toMatchObject({ status: 'QUEUED' });
    await shop.dispatch(run);
    await shop.reaches(run.runId, 'SUCCEEDED');

    expect(await shop.repository.pushes()).toHaveLength(1);
    expect((await eventsOf(shop, run.runId)).filter((type) => type === 'run.running')).toHaveLength(1);
    expect((await attemptsOf(shop, run)).map((attempt) => attempt.status)).toEqual(['released', 'succeeded']);
  });

  it('a sealed proposal whose worker died before it was handed in waits for a person all the same', async () => {
    const shop = await workshop({ policy: proposing });
    const failing = armFailPoint('worker.sealed', 'throw@1');
    atEnd(() => failing.disarm());
    await shop.worker();
    const run = await shop.offer({ mode: 'propose', retry: { ...ONCE, maxInfrastructure: 2 } });
    await shop.reaches(run.runId, 'QUEUED');
    await eventually(async () => (await attemptsOf(shop, run))[0]?.status === 'failed' || null, {
      what: 'the first attempt has failed after it was sealed',
    });
    await eventually(
      async () => (await shop.db.service.transaction((c) => dueItems.promote(c, 10))).length > 0,
      {
        what: 'its back-off is over',
      },
    );
    await shop.dispatch(run);
    await shop.reaches(run.runId, 'WAITING_APPROVAL');
    expect(await shop.repository.pushes()).toEqual([]);
    expect(await requestOf(shop, run)).toMatchObject({ subject: 'proposal', outcome: null });
  });

  it('Q7: a route that has become stricter since admission pushes nothing', async () => {
    const shop = await workshop({ policy: proposing });
    await shop.worker();
    const run = await shop.offer({ mode: 'act' });
    await shop.reaches(run.runId, 'WAITING_APPROVAL');
    expect(await shop.repository.pushes()).toEqual([]);
  });

  it('mode observe: nothing is published, and the attempt says so', async () => {
    const shop = await workshop();
    await shop.worker();
    const run = await shop.offer({ mode: 'observe' });
    await shop.reaches(run.runId, 'SUCCEEDED');
    expect(await shop.repository.pushes()).toEqual([]);
    const [attempt] = await attemptsOf(shop, run);
    expect(attempt?.evidence).toMatchObject({ mode: 'observe', published: false });
  });

  it('a later version of a task moves the branch of the first, from exactly what was confirmed there', async () => {
    const shop = await workshop();
    await shop.worker();
    const first = await shop.offer({}, { workKey: '42/branch/main' });
    await shop.reaches(first.runId, 'SUCCEEDED');
    const [before] = await shop.repository.history(branchOf(first));

    const next = await shop.repository.commit({ files: { 'README.md': 'Another revision.\n' } });
    const second = await shop.offer({}, { workKey: '42/branch/main', inputVersion: next });
    await shop.reaches(second.runId, 'SUCCEEDED');

    const pushes = await shop.repository.pushes();
    expect(pushes.map((push) => push.ref)).toEqual([
      `refs/heads/${branchOf(first)}`,
      `refs/heads/${branchOf(first)}`,
    ]);
    expect(pushes[1]?.before).toBe(before?.sha);
    const [after] = await shop.repository.history(branchOf(first));
    expect(after?.parents).toEqual([next]);
    expect(after?.message).toContain(`Agent-Run-ID: ${formatId('run', second.runId)}`);
  });

  it('INV-EF5: a commit of somebody else on that branch is never overwritten', async () => {
    const shop = await workshop();
    await shop.worker();
    const first = await shop.offer({}, { workKey: '42/branch/main' });
    await shop.reaches(first.runId, 'SUCCEEDED');
    const theirs = await shop.repository.commit({
      branch: branchOf(first),
      files: { 'theirs.txt': 'mine now\n' },
    });
    const next = await shop.repository.commit({ files: { 'README.md': 'Another revision.\n' } });
    const second = await shop.offer({}, { workKey: '42/branch/main', inputVersion: next });
    await shop.reaches(second.runId, 'FAILED');
    expect(await shop.status(second.runId)).toMatchObject({ reasonCode: 'SOURCE_MOVED' });
    expect(await shop.repository.head(branchOf(first))).toBe(theirs);
    const [letters] = await rowsOf<{ count: number }>(shop, 'select count(*)::int from headgate.dead_letter');
    expect(letters?.count).toBe(0);
  });

  it('Q17: a forge that cannot be reached for the push is tried again, and only the push', async () => {
    const shop = await workshop();
    // The reader says that all is well; git itself finds nothing where the repository was.
    await shop.worker();
    const run = await shop.offer({
      retry: { maxAttempts: 3, maxInfrastructure: 5, maxLeaseLost: 3, backoffMs: [60_000] },
      repository: {
        externalId: '42',
        fullName: 'acme/api',
        url: `${shop.repository.path}-missing`,
        defaultBranch: 'main',
      },
    });
    await shop.reaches(run.runId, 'QUEUED');
    await eventually(async () => (await attemptsOf(shop, run)).length === 1 || null, { what: 'one attempt' });
    await eventually(
      async () => (await attemptsOf(shop, run))[0]?.reasonCode === 'GIT_CLONE_FAILED_TRANSIENT' || null,
      { what: 'it failed for want of the repository' },
    );
    const [item] = await rowsOf<{ state: string; waits: string }>(
      shop,
      'select state, waits from headgate.queue_item where run_id = $1',
      [run.runId],
    );
    expect(item).toEqual({ state: 'delayed', waits: 'backoff' });
  });
});
