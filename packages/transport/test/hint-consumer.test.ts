import { type Clock, systemClock } from '@headgate/domain';
import { describe, expect, it } from 'vitest';
import { encodeHint, HINT_JOB_NAME } from '../src/hint.js';
import type { ConsumeOptions } from '../src/hint-bus.js';
import { HintConsumer } from '../src/hint-consumer.js';
import type { FetchedHint, HintSupply } from '../src/hint-source.js';
import { aHint, aTaker, silentLogger } from './bus-fixture.js';
import { eventually } from './eventually.js';

interface Fetched extends FetchedHint {
  readonly fate: () => 'held' | 'finished' | 'given back';
}

function aFetched(): Fetched {
  const encoded = encodeHint(aHint());
  if (encoded === null) throw new Error('not a hint');
  let fate: ReturnType<Fetched['fate']> = 'held';
  return {
    jobId: encoded.jobId,
    content: { id: encoded.jobId, name: HINT_JOB_NAME, data: encoded.data, publishedAtMs: Date.now() },
    finish: () => {
      fate = 'finished';
    },
    giveBack: () => {
      fate = 'given back';
    },
    fate: () => fate,
  };
}

/** A queue whose fetches are answered by the test. `next` waits for ever unless told otherwise. */
function aSupply(changes: Partial<HintSupply> = {}) {
  let interrupted = (): void => {};
  const ended = new Promise<null>((resolve) => {
    interrupted = () => resolve(null);
  });
  const calls = { next: 0, close: 0 };
  const supply: HintSupply = {
    more: async () => [],
    settled: async () => {},
    interrupt: () => interrupted(),
    ...changes,
    next: () => {
      calls.next += 1;
      return changes.next?.() ?? ended;
    },
    close: async () => {
      calls.close += 1;
    },
  };
  return { supply, calls };
}

function aConsumer(supplies: readonly HintSupply[], options: ConsumeOptions, clock: Clock = systemClock) {
  const opened: string[] = [];
  const consumer = new HintConsumer(
    {
      clock,
      logger: silentLogger,
      observe: () => {},
      disconnect: () => {},
      onHint: () => {},
      openSource: (queueKey) => {
        const supply = supplies[opened.length];
        if (supply === undefined) throw new Error('no more supplies');
        opened.push(queueKey);
        return supply;
      },
    },
    options,
  );
  return { consumer, opened };
}

describe('the consumer loop', () => {
  it('makes a source anew that fails time after time, and goes on with the new one', async () => {
    const broken = aSupply({ next: () => Promise.reject(new Error('Connection is closed.')) });
    const hint = aFetched();
    let served = false;
    const sound = aSupply({
      next: () => {
        if (served) return new Promise(() => {});
        served = true;
        return Promise.resolve(hint);
      },
    });
    const taker = aTaker();
    const { consumer, opened } = aConsumer([broken.supply, sound.supply], { queues: ['default'], ...taker });
    // A moment after the hand-over, not at it.
    await eventually(() => hint.fate() !== 'held', { what: 'a hint of the new source is dealt with' });
    expect(taker.received).toHaveLength(1);
    expect(opened).toEqual(['default', 'default']);
    expect(broken.calls).toEqual({ next: 5, close: 1 });
    expect(hint.fate()).toBe('finished');
    await consumer.close({ graceMs: 0 });
  });

  it('finishes the job at hand-over, before the claim has decided', async () => {
    const hint = aFetched();
    let served = false;
    const { supply } = aSupply({
      next: () => {
        if (served) return new Promise(() => {});
        served = true;
        return Promise.resolve(hint);
      },
    });
    let taken = false;
    const { consumer } = aConsumer([supply], {
      queues: ['default'],
      wanted: () => 1,
      onHints: () => {
        taken = true;
        return new Promise(() => {});
      },
    });
    // A moment after the hand-over: what the hint starts goes first.
    await eventually(() => taken && hint.fate() !== 'held', { what: 'the hand-over' });
    expect(hint.fate()).toBe('finished');
    await consumer.close({ graceMs: 0 });
  });

  it('hands a hint over before it asks whether there are more', async () => {
    const seen: string[] = [];
    let served = false;
    const { supply } = aSupply({
      next: () => {
        if (served) return new Promise(() => {});
        served = true;
        return Promise.resolve(aFetched());
      },
      more: async () => {
        seen.push('asked for more');
        return [];
      },
    });
    const { consumer } = aConsumer([supply], {
      queues: ['default'],
      wanted: () => 2,
      onHints: async () => void seen.push('handed over'),
    });
    await eventually(() => seen.length === 2, { what: 'both' });
    expect(seen).toEqual(['handed over', 'asked for more']);
    await consumer.close({ graceMs: 0 });
  });

  it('gives back what arrives after the slots were filled by something else', async () => {
    let arrive = (_: FetchedHint): void => {};
    const { supply, calls } = aSupply({
      next: () =>
        new Promise((resolve) => {
          arrive = resolve;
        }),
    });
    let free = 1;
    const taker = aTaker();
    const { consumer } = aConsumer([supply], { ...taker, queues: ['default'], wanted: () => free });
    await eventually(() => calls.next === 1, { what: 'it asks' });
    free = 0;
    const hint = aFetched();
    arrive(hint);
    await eventually(() => hint.fate() !== 'held', { what: 'the hint is dealt with' });
    expect(hint.fate()).toBe('given back');
    expect(taker.received).toEqual([]);
    await consumer.close({ graceMs: 0 });
  });

  it('names the queues that have had no answer for too long; a parked one asked nothing', async () => {
    let nowMs = 0;
    const clock: Clock = { now: () => new Date(), monotonicMs: () => nowMs };
    const [asking, other] = [aSupply(), aSupply()];
    let free = 1;
    const options = { ...aTaker(), queues: ['a', 'b'], wanted: () => free };
    const { consumer } = aConsumer([asking.supply, other.supply], options, clock);
    await eventually(() => asking.calls.next === 1 && other.calls.next === 1, { what: 'both ask' });
    nowMs = 5000;
    expect(consumer.silentQueues(5000)).toEqual([]);
    nowMs = 5001;
    expect(consumer.silentQueues(5000)).toEqual(['a', 'b']);
    await consumer.close({ graceMs: 1000 });
    expect(consumer.silentQueues(5000)).toEqual([]);

    free = 0;
    const parked = aSupply();
    const idle = aConsumer([parked.supply], { ...options, queues: ['a'] }, clock).consumer;
    nowMs += 60_000;
    expect(parked.calls.next).toBe(0);
    expect(idle.silentQueues(5000)).toEqual([]);
    await idle.close({ graceMs: 1000 });
  });

  it('a queue that answers a second fetch late is silent no longer', async () => {
    let nowMs = 0;
    const clock: Clock = { now: () => new Date(), monotonicMs: () => nowMs };
    let answer = (): void => {};
    let isAsking = false;
    let fetches = 0;
    const { supply, calls } = aSupply({
      next: () => {
        fetches += 1;
        return fetches === 1 ? Promise.resolve(aFetched()) : new Promise(() => {});
      },
      more: () =>
        new Promise((resolve) => {
          isAsking = true;
          answer = () => resolve([]);
        }),
    });
    const { consumer } = aConsumer([supply], { ...aTaker(), queues: ['a'] }, clock);
    await eventually(() => isAsking, { what: 'it asks for more' });
    nowMs = 9000;
    expect(consumer.silentQueues(5000)).toEqual(['a']);
    answer();
    await eventually(() => calls.next === 2, { what: 'it goes on' });
    expect(consumer.silentQueues(5000)).toEqual([]);
    await consumer.close({ graceMs: 0 });
  });

  it('takes a queue that is named twice once', async () => {
    const one = aSupply();
    const { consumer, opened } = aConsumer([one.supply], { ...aTaker(), queues: ['a', 'a'] });
    expect(opened).toEqual(['a']);
    expect(await consumer.close({ graceMs: 1000 })).toEqual({ clean: true });
  });
});
