/** Dispatch after a commit: at once on an idle system, few turns under load, and never lost. */
import type { AdmittedRun } from '@headgate/admission';
import { type RunId, systemIds } from '@headgate/domain';
import { createLogger } from '@headgate/telemetry';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StartWork } from '../src/start-work.js';

const runOf = (queue: string): AdmittedRun => ({
  runId: systemIds.next('run') as RunId,
  tenantId: 1,
  queue,
});

/** A dispatcher that starts as many runs a turn as it is told, and says when it was asked. */
function aDispatcher(startsPerTurn: number, leavesSome = startsPerTurn === 0) {
  const turnsAtMs: number[] = [];
  const noted: string[][] = [];
  const woken: string[] = [];
  const startWork = new StartWork({
    dispatcher: {
      noteReady: async (items) => void noted.push(items.map(({ queue }) => queue)),
      turn: async () => {
        turnsAtMs.push(performance.now());
        return startsPerTurn;
      },
      leavesSome,
    },
    bus: { wake: async (_topic, payload) => void woken.push(JSON.stringify(payload)) },
    logger: createLogger('test', { level: 'silent' }),
  });
  return { startWork, turnsAtMs, noted, woken };
}

describe('dispatch after an admission', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  it('begins at once where nothing is under way', async () => {
    const { startWork, turnsAtMs, woken } = aDispatcher(1);
    const askedAtMs = performance.now();
    startWork.admitted([runOf('default')]);
    await vi.advanceTimersByTimeAsync(0);
    expect(turnsAtMs).toEqual([askedAtMs]);
    expect(woken).toEqual([]);
  });

  it.each([0, 1])('wakes a scheduler where a turn that started %i left something', async (started) => {
    const { startWork, woken } = aDispatcher(started, true);
    startWork.admitted([runOf('default')]);
    await vi.advanceTimersByTimeAsync(0);
    expect(woken).toEqual([JSON.stringify({ tenantId: 1, queue: 'default' })]);
  });

  it('takes what comes meanwhile in one turn, a moment later', async () => {
    const { startWork, turnsAtMs, noted } = aDispatcher(1);
    startWork.admitted([runOf('a')]);
    await vi.advanceTimersByTimeAsync(0);
    for (const queue of ['a', 'b', 'a']) startWork.admitted([runOf(queue)]);
    await vi.advanceTimersByTimeAsync(19);
    expect(noted).toEqual([['a']]);
    await vi.advanceTimersByTimeAsync(1);
    expect(noted).toEqual([['a'], ['a', 'b']]);
    expect(turnsAtMs).toHaveLength(2);
  });

  it('leaves a system without free slots alone for longer', async () => {
    const { startWork, turnsAtMs } = aDispatcher(0);
    startWork.admitted([runOf('a')]);
    await vi.advanceTimersByTimeAsync(0);
    startWork.admitted([runOf('a')]);
    await vi.advanceTimersByTimeAsync(99);
    expect(turnsAtMs).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(turnsAtMs).toHaveLength(2);
  });

  it('does not wait when it drains, and leaves nothing behind', async () => {
    const { startWork, turnsAtMs, noted } = aDispatcher(0);
    startWork.admitted([runOf('a')]);
    await vi.advanceTimersByTimeAsync(0);
    startWork.admitted([runOf('b')]);
    await startWork.idle();
    expect(turnsAtMs).toHaveLength(2);
    expect(noted).toEqual([['a'], ['b']]);
  });

  it('begins at once again after a rest', async () => {
    const { startWork, turnsAtMs } = aDispatcher(1);
    startWork.admitted([runOf('a')]);
    await vi.advanceTimersByTimeAsync(1_000);
    startWork.admitted([runOf('a')]);
    await vi.advanceTimersByTimeAsync(0);
    expect(turnsAtMs).toHaveLength(2);
  });
});
