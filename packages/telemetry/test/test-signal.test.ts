import { describe, expect, it } from 'vitest';
import { onTestSignal, testSignal, waitForSignal } from '../src/index.js';

describe('test signals in a process', () => {
  it('reach their listeners and nobody else, until they stop', () => {
    const seen: unknown[] = [];
    const stop = onTestSignal('a', (detail) => seen.push(detail));
    testSignal('a', { n: 1 });
    testSignal('b', { n: 2 });
    testSignal('a');
    stop();
    testSignal('a', { n: 3 });
    expect(seen).toEqual([{ n: 1 }, {}]);
  });

  it('a stale stop does not silence a later listener of the same name', () => {
    const stop = onTestSignal('a', () => {});
    stop();
    const seen: unknown[] = [];
    const stopSecond = onTestSignal('a', (detail) => seen.push(detail));
    stop();
    testSignal('a', { n: 1 });
    stopSecond();
    expect(seen).toEqual([{ n: 1 }]);
  });

  it('waiting passes over signals that do not match', async () => {
    const waiting = waitForSignal('a', (detail) => detail['n'] === 2);
    testSignal('a', { n: 1 });
    testSignal('a', { n: 2 });
    expect(await waiting).toEqual({ n: 2 });
  });

  it('waiting in vain fails by its deadline and says what came instead', async () => {
    const waiting = waitForSignal('a', () => false, 20);
    testSignal('a');
    await expect(waiting).rejects.toThrow('No test signal "a" within 20 ms: 1 of that name did not match.');
  });

  it('a predicate that throws fails the wait, not the one who signalled', async () => {
    const waiting = waitForSignal('a', () => {
      throw new Error('wrong test');
    });
    const outcome = expect(waiting).rejects.toThrow('wrong test');
    expect(() => testSignal('a')).not.toThrow();
    await outcome;
  });
});
