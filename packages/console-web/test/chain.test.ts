import type { ExplanationStep } from '@headgate/sdk';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chainOf } from '../src/why/chain.js';

const aStep = (change: Partial<ExplanationStep> = {}): ExplanationStep => ({
  at: '2026-01-31T13:50:01.000Z',
  type: 'receipt.decision',
  outcome: 'accept',
  reasonCode: null,
  message: '',
  rule: null,
  actor: null,
  receiptId: null,
  runId: null,
  count: 1,
  lastAt: '2026-01-31T13:50:01.000Z',
  ...change,
});
const move = (runId: string): ExplanationStep => aStep({ type: 'run.claimed', outcome: null, runId });

describe('the chain of an explanation', () => {
  it('hangs what became of a run below the first signal that led to it', () => {
    const first = aStep({ runId: 'run_1' });
    const again = aStep({ runId: 'run_1', outcome: 'reject' });
    const claimed = move('run_1');
    const closed = aStep({ runId: 'run_1', type: 'receipt.closing' });
    expect(chainOf([first, again, claimed, closed])).toEqual([
      { step: first, below: [claimed, closed] },
      { step: again, below: [] },
    ]);
  });

  it('shows what belongs to no signal by itself', () => {
    const lone = move('run_9');
    const plain = aStep({ outcome: null, type: 'schedule.paused' });
    expect(chainOf([lone, plain])).toEqual([
      { step: lone, below: [] },
      { step: plain, below: [] },
    ]);
  });

  it('holds every step once, and below a signal in the order of their time', () => {
    const runId = fc.constantFrom('run_1', 'run_2', 'run_3', null);
    const step = fc.record({
      runId,
      type: fc.constantFrom('receipt.decision', 'receipt.closing', 'run.claimed'),
      outcome: fc.constantFrom('accept' as const, 'reject' as const, null),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (changes) => {
        const steps = changes.map((change) => aStep(change));
        const chain = chainOf(steps);
        const shown = chain.flatMap(({ step: one, below }) => [one, ...below]);
        expect(shown.length).toBe(steps.length);
        expect(new Set(shown)).toEqual(new Set(steps));
        const places = (list: readonly ExplanationStep[]): readonly number[] =>
          list.map((one) => steps.indexOf(one));
        for (const { below } of chain) expect(places(below)).toEqual(places(below).toSorted((a, b) => a - b));
      }),
    );
  });
});
