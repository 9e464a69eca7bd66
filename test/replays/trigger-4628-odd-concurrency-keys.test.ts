/** trigger.dev #4628: concurrency key `*`, `a:b`, empty, emoji, 2 KB. Others go on, and no two keys collide. */
import { describe, expect, it } from 'vitest';
import { claimRuns, dispatchedItems } from '../world/claims.js';
import { CHECKS, policyFrom, withRoute } from '../world/policy.js';
import { anotherTarget, submissionOf } from '../world/signals.js';
import { aDispatcher, anAdmission, aWorker, aWorld } from '../world/world.js';

const KEYS = ['*', 'a:b', 'a', ':b', '🚀', 'x'.repeat(2_048), '%', "'; --", 'A', 'null'];

describe('trigger.dev #4628', () => {
  it('Q23: of each key one runs, of the empty one all, and none is taken for another', async () => {
    const policy = withRoute(await policyFrom(CHECKS), {
      when: null,
      concurrency: { key: '{{ event.key }}', limit: 1 },
    });
    const world = await aWorld(policy);
    const worker = await aWorker(world, 100);
    const { admission } = anAdmission(world);
    const asked = [...KEYS, ...KEYS, '', '', ''];
    const answers = await Promise.all(
      asked.map((key, at) => admission.submit(submissionOf({ ...anotherTarget(at), data: { key } }))),
    );
    expect(new Set(answers.map((answer) => answer.reasonCode))).toEqual(new Set(['ADMITTED']));

    const dispatcher = aDispatcher(world);
    await dispatcher.scan();
    await dispatcher.turn({ wait: true });
    await claimRuns(world, worker, await dispatchedItems(world));
    await dispatcher.scan();
    expect(await dispatcher.turn({ wait: true })).toBe(0);

    const running = await world.sql<{ concurrency_key: string | null }>(
      'select r.concurrency_key from headgate.lease l join headgate.run r on r.id = l.run_id',
    );
    const held = running.map((run) => run.concurrency_key);
    expect(held.filter((key) => key !== null).sort()).toEqual([...KEYS].sort());
    expect(held.filter((key) => key === null)).toHaveLength(3);
  });
});
