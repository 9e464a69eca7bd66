/**
 * The failure map (I17): five symptoms that people of such systems report. Each cannot happen here, and the question
 * that the symptom raises is answered by the explain API from receipts alone.
 */
import { formatId, systemIds } from '@headgate/domain';
import { createLedger, writeVerdicts } from '@headgate/store';
import { describe, expect, it } from 'vitest';
import { claimRuns, dispatchedItems } from '../world/claims.js';
import { publishNext } from '../world/published.js';
import { aSignal, sha, submissionOf } from '../world/signals.js';
import { askingWhy } from '../world/why.js';
import { aDispatcher, anAdmission, aWorker, aWorld, type World } from '../world/world.js';

async function dispatched(world: World) {
  const dispatcher = aDispatcher(world);
  await dispatcher.scan();
  await dispatcher.turn({ wait: true });
  return dispatchedItems(world);
}

const codes = (steps: readonly { reasonCode: string | null }[]): readonly (string | null)[] =>
  steps.map((step) => step.reasonCode);

describe('the failure map', () => {
  it('I17: why did it run twice? It did not: forty deliveries of one commit, one run, and each receipt names it', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const eventIds = Array.from({ length: 20 }, (_, n) => `1/delivery-${n}`);
    const answers = await Promise.all(
      [...eventIds, ...eventIds].map((eventId) => admission.submit(submissionOf({ eventId }))),
    );
    expect(new Set(answers.map((answer) => answer.runId)).size).toBe(1);
    expect(await world.sql('select 1 from headgate.run')).toHaveLength(1);
    const why = await askingWhy(world);
    const { summary, steps } = await why('1/delivery-0');
    expect(summary).toContain('led to 1 run');
    expect(codes(steps)).toEqual(expect.arrayContaining(['ADMITTED', 'DUPLICATE_DELIVERY']));
    // Asked of another delivery, and of the run itself.
    expect(codes((await why('1/delivery-7')).steps)).toContain('DUPLICATE_WORK');
    const ofRun = await why(formatId('run', answers[0]?.runId ?? systemIds.next('run')));
    expect(codes(ofRun.steps)).toEqual(expect.arrayContaining(['ADMITTED', 'DUPLICATE_WORK']));
  });

  it('I17: why did it not run? No signal is without a receipt, and the rule that said no is named', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    await admission.submit(
      submissionOf({ eventId: '1/quiet', data: { check_run: { conclusion: 'success' } } }),
    );
    const why = await askingWhy(world);
    const { steps } = await why('1/quiet');
    expect(steps).toMatchObject([{ outcome: 'reject', reasonCode: 'NOT_ELIGIBLE', rule: 'route.when' }]);
    expect(steps[0]?.message).toContain('event.check_run.conclusion == "failure"');
  });

  it('I17: why did it run old input? It did not: the older push is refused, and one that went stale ends without a lease', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    await aWorker(world, 1);
    const minute = (n: number): Date => new Date(Date.UTC(2026, 0, 1, 0, n));
    const newer = await admission.submit(submissionOf({ inputVersion: sha('b'), sourceAt: minute(2) }));
    await admission.submit(submissionOf({ eventId: '1/older', inputVersion: sha('a'), sourceAt: minute(1) }));
    const [item] = await dispatched(world);
    if (item === undefined || newer.runId === null) throw new Error('nothing was dispatched');
    await writeVerdicts(
      world.database.service,
      [
        {
          ...item,
          verdict: {
            kind: 'end',
            to: 'NO_WORK',
            reasonCode: 'STALE_INPUT',
            detail: 'The head of pull request 7 stands elsewhere.',
          },
        },
      ],
      'worker',
    );
    expect(await world.sql('select 1 from headgate.lease union all select 1 from headgate.attempt')).toEqual(
      [],
    );
    const why = await askingWhy(world);
    const { steps } = await why('42/pr/7/check/unit');
    expect(codes(steps)).toEqual(expect.arrayContaining(['SUPERSEDED', 'STALE_INPUT']));
    expect(steps.find((step) => step.reasonCode === 'SUPERSEDED')).toMatchObject({ rule: 'source-order' });
  });

  it('I17: why did it write twice? It did not: one intent per key, and the record shows what came of it', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const worker = await aWorker(world, 1);
    const { runId } = await admission.submit(submissionOf({ eventId: '1/write' }));
    const items = await dispatched(world);
    const [run] = await claimRuns(world, worker, items);
    if (run === undefined || runId === null) throw new Error('nothing was claimed');
    const fence = { runId, fencingToken: run.fencingToken, leaseId: run.leaseId };
    const ledger = createLedger(world.database.service, {
      tenantId: run.tenantId,
      ids: systemIds,
      actor: 'applier',
    });
    const intent = { key: 'push:once', kind: 'push', fence, intent: { ref: 'x' } } as const;
    await Promise.all([ledger.intend(intent), ledger.intend(intent), ledger.intend(intent)]);
    const tries = await Promise.all([1, 2, 3].map(() => ledger.attempt({ key: intent.key, fence })));
    expect(tries.filter((one) => one.kind === 'go')).toHaveLength(1);
    await ledger.confirm({ key: intent.key, evidence: {}, externalId: 'x@1', url: null });
    expect(await world.sql('select state, tries from headgate.operation')).toEqual([
      { state: 'confirmed', tries: 1 },
    ]);
    const why = await askingWhy(world);
    const { steps } = await why('1/write');
    const types = steps.map((step) => step.type);
    expect(types.filter((type) => type === 'operation.attempted')).toHaveLength(1);
    expect(types).toContain('operation.confirmed');
  });

  it('I17: why did it burn tokens on nothing? It did not: our own echo and a loop end in receipts, before a model', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const worker = await aWorker(world, 1);
    await admission.submit(submissionOf({ inputVersion: sha('f') }));
    let { branch, commitSha } = await publishNext(world, worker, sha('1'));
    const failing = () =>
      admission.submit(
        submissionOf({
          eventId: `1/${commitSha}`,
          inputVersion: commitSha,
          target: { ...targetOf(branch), aspect: 'unit' },
        }),
      );
    for (const next of ['2', '3']) {
      await failing();
      ({ branch, commitSha } = await publishNext(world, worker, sha(next)));
    }
    const end = await failing();
    expect(end).toMatchObject({ reasonCode: 'WORK_KEY_EXHAUSTED', runId: null });
    expect(await world.sql('select 1 from headgate.attempt')).toHaveLength(3);
    const why = await askingWhy(world);
    const { steps } = await why(`1/${commitSha}`);
    expect(steps.find((step) => step.reasonCode === 'WORK_KEY_EXHAUSTED')).toMatchObject({
      rule: 'loopGuard.maxRunsSinceHuman',
      message: expect.stringContaining('3 of 3'),
    });
  });
});

const targetOf = (branch: string) => ({
  ...aSignal().target,
  kind: 'branch' as const,
  id: branch,
  ref: branch,
});
