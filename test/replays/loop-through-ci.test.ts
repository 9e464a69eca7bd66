/** Loop through CI: the check fails ten times on our own commits, and the events' sender is the CI's app. */
import { describe, expect, it } from 'vitest';
import { publishNext } from '../world/published.js';
import { submissionOf } from '../world/signals.js';
import { anAdmission, aWorker, aWorld } from '../world/world.js';

const TIMES = 10;
/** As GitHub's checks come: from the CI's own app. */
const CI = { kind: 'bot', id: '15368', name: 'github-actions[bot]' } as const;
const commit = (n: number): string => n.toString(16).padStart(40, 'c');

const failed = (version: string, branch: string, minute: number) =>
  submissionOf({
    actor: CI,
    inputVersion: version,
    sourceAt: new Date(Date.UTC(2026, 0, 1, 0, minute)),
    target: { kind: 'branch', id: branch, ref: branch, aspect: 'unit' },
  });

describe('replay: a loop through CI', () => {
  it('ends after maxRunsSinceHuman runs on one branch with WORK_KEY_EXHAUSTED; a person’s act lets it go on', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const worker = await aWorker(world, 1);

    const codes: string[] = [];
    let branch = 'topic';
    let version = 'f'.repeat(40);
    for (let n = 0; n < TIMES; n += 1) {
      const answer = await admission.submit(failed(version, branch, n));
      codes.push(answer.reasonCode);
      if (answer.reasonCode !== 'ADMITTED') continue;
      const published = await publishNext(world, worker, commit(n));
      branch = published.branch;
      version = published.commitSha;
    }
    expect(codes).toEqual([...Array(3).fill('ADMITTED'), ...Array(TIMES - 3).fill('WORK_KEY_EXHAUSTED')]);
    const [count] = await world.sql<{ runs: number; tasks: number; branches: number }>(
      `select count(*)::int as runs, count(distinct task_id)::int as tasks,
              count(distinct branch)::int as branches from headgate.run`,
    );
    expect(count).toEqual({ runs: 3, tasks: 1, branches: 1 });
    const [last] = await world.sql<{ rule: string; message: string }>(
      'select rule, message from headgate.receipt order by id desc limit 1',
    );
    expect(last).toMatchObject({
      rule: 'loopGuard.maxRunsSinceHuman',
      message: expect.stringContaining('3 of 3'),
    });

    // A person comments on the branch's pull request: nobody's route, and yet an act.
    await admission.submit(
      submissionOf({
        type: 'github.pull_request.labeled',
        target: { kind: 'branch', id: branch, ref: branch, aspect: null },
        inputVersion: version,
        data: { action: 'labeled' },
      }),
    );
    const again = await admission.submit(failed(version, branch, TIMES));
    expect(again.reasonCode).toBe('ADMITTED');
    const [run] = await world.sql<{ hops: number; chain: number; root: boolean }>(
      `select r.hops, r.chain_runs as chain,
              r.root_receipt_id = (select receipt_id from headgate.run order by id limit 1) as root
         from headgate.run r order by r.id desc limit 1`,
    );
    expect(run).toEqual({ hops: 3, chain: 1, root: true });
  });

  it('the push itself comes back as our own doing, whoever is named as its sender', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const worker = await aWorker(world, 1);
    await admission.submit(failed('f'.repeat(40), 'topic', 0));
    const { branch, commitSha } = await publishNext(world, worker, commit(1));
    const { policy } = world.active;
    const routes = policy.routes.map((route) => ({
      ...route,
      when: null,
      on: [{ kind: 'event' as const, type: 'github.push' }],
    }));
    const listening = await world.activate({ ...policy, digest: 'pushes', routes });
    const { admission: other } = anAdmission(world, () => listening);
    const answer = await other.submit(
      submissionOf({
        type: 'github.push',
        actor: { kind: 'user', id: '5', name: 'ada' },
        target: { kind: 'branch', id: branch, ref: branch, aspect: null },
        inputVersion: commitSha,
        data: {},
      }),
    );
    expect(answer).toMatchObject({ reasonCode: 'SELF_TRIGGERED', runId: null });
  });

  it('HOP_LIMIT ends a chain that wanders from work to work', async () => {
    const world = await aWorld();
    const limited = await world.activate({
      ...world.active.policy,
      digest: 'hops',
      loopGuard: { maxHops: 1, maxRunsSinceHuman: 100, perTarget: null, perActor: null },
    });
    const { admission } = anAdmission(world, () => limited);
    const at = { ...world, active: limited };
    const worker = await aWorker(world, 1);
    const codes: string[] = [];
    let version = 'f'.repeat(40);
    for (let n = 0; n < 3; n += 1) {
      const answer = await admission.submit(failed(version, `somewhere-${n}`, n));
      codes.push(answer.reasonCode);
      if (answer.reasonCode === 'ADMITTED') version = (await publishNext(at, worker, commit(n))).commitSha;
    }
    expect(codes).toEqual(['ADMITTED', 'ADMITTED', 'HOP_LIMIT']);
  });

  it('rates per target and per actor: a receipt with rule and numbers, and no run', async () => {
    const world = await aWorld();
    const limited = await world.activate({
      ...world.active.policy,
      digest: 'rates',
      loopGuard: {
        maxHops: 5,
        maxRunsSinceHuman: 3,
        perTarget: { limit: 2, windowMs: 3_600_000 },
        perActor: { limit: 3, windowMs: 3_600_000 },
      },
    });
    const { admission } = anAdmission(world, () => limited);
    const onTopic = await Promise.all([1, 2, 3].map((n) => admission.submit(failed(commit(n), 'topic', n))));
    expect(onTopic.map((answer) => answer.reasonCode).sort()).toEqual([
      'ADMITTED',
      'ADMITTED',
      'RATE_EXCEEDED',
    ]);

    const asked = (n: number) =>
      admission.submit(
        submissionOf({
          type: 'manual',
          trigger: 'manual',
          source: 'api',
          via: 'api',
          actor: { kind: 'token', id: 'ops', name: 'ops' },
          target: { kind: 'branch', id: `b-${n}`, ref: `b-${n}`, aspect: null },
          inputVersion: commit(n),
          data: { route: 'fix' },
        }),
      );
    for (const n of [4, 5, 6]) expect((await asked(n)).reasonCode).toBe('ADMITTED');
    const refused = await asked(7);
    expect(refused).toMatchObject({ outcome: 'reject', reasonCode: 'RATE_EXCEEDED', runId: null });
    const [receipt] = await world.sql<{ rule: string; message: string }>(
      'select rule, message from headgate.receipt where id = $1',
      [refused.receiptId],
    );
    expect(receipt).toMatchObject({ rule: 'loopGuard.perActor', message: expect.stringContaining('3 of 3') });
  });
});
