import { BIRTH_STATUSES, type RunStatus, TRANSITIONS } from '@headgate/domain';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chainOfRun } from '../src/checker/commit-order.js';
import type { RunEventRow } from '../src/index.js';
import { parseHistory } from '../src/index.js';
import { events } from './checker-world.js';

/** A legal life of a run, cut into transactions. */
const lives = fc
  .record({
    birth: fc.constantFrom(...BIRTH_STATUSES),
    choices: fc.array(fc.nat(), { maxLength: 14 }),
    cuts: fc.array(fc.boolean(), { minLength: 15, maxLength: 15 }),
  })
  .map(({ birth, choices, cuts }) => {
    const path: RunStatus[] = [birth];
    for (const choice of choices) {
      const next = TRANSITIONS[path.at(-1) ?? birth];
      const to = next[choice % Math.max(next.length, 1)];
      if (to !== undefined) path.push(to);
    }
    const groups: RunEventRow[][] = [];
    let before: RunStatus | null = null;
    for (const [index, status] of path.entries()) {
      const step = events('r', index, before, [status]);
      const last = groups.at(-1);
      if (last === undefined || cuts[index] === true)
        groups.push(step.map((one) => ({ ...one, xid: `x${index}` })));
      else last.push(...step.map((one) => ({ ...one, xid: last[0]?.xid ?? '' })));
      before = status;
    }
    return groups;
  });

const statuses = (list: readonly RunEventRow[]) => list.map((event) => event.to);

describe('the order of a run’s transitions', () => {
  it('INV-ST1: any order of transaction numbers gives an unbroken chain, if there is one', () => {
    const shuffled = lives.chain((groups) =>
      fc.tuple(fc.constant(groups), fc.shuffledSubarray(groups, { minLength: groups.length })),
    );
    fc.assert(
      fc.property(shuffled, ([groups, order]) => {
        const chain = chainOfRun(order.flat(), 'xid');
        expect(chain.brokenAt).toBeNull();
        expect(statuses(chain.transitions)).toHaveLength(groups.flat().length);
        return true;
      }),
      { numRuns: 300 },
    );
  });

  it('INV-ST1: keeps the order of numbers where that is already a chain', () => {
    fc.assert(
      fc.property(lives, (groups) => {
        const inOrder = groups.flat();
        expect(chainOfRun(inOrder, 'xid').transitions).toEqual(inOrder);
        return true;
      }),
    );
  });

  it('INV-ST1: a life with a step missing is broken in any order', () => {
    fc.assert(
      fc.property(lives, fc.nat(), (groups, which) => {
        const all = groups.flat();
        // Without its last step a life is only shorter; without one before it must show.
        fc.pre(all.length > 1);
        const missing = which % (all.length - 1);
        const left = all.filter((_event, index) => index !== missing);
        const joins = all[missing]?.from === all[missing]?.to;
        const cycle = all[missing + 1]?.from === (all[missing - 1]?.to ?? null);
        fc.pre(!joins && !cycle);
        return chainOfRun(left, 'commit').brokenAt !== null;
      }),
    );
  });

  it('INV-ST1: where the order of commits is known it is taken at its word', () => {
    const [first, second] = [events('r', 0, null, ['QUEUED']), events('r', 1, 'QUEUED', ['CLAIMED'])];
    expect(chainOfRun([...second, ...first], 'commit').brokenAt).toEqual(second[0]);
    expect(chainOfRun([...second, ...first], 'xid').brokenAt).toBeNull();
  });
});

describe('reading a history file', () => {
  const line = (seq: number) => `{"seq":${seq},"proc":"p-1","monoNs":"${seq}","type":"ok","op":"claim"}\n`;

  it('leaves out the line that a kill tore', () => {
    expect(parseHistory(`${line(1)}${line(2)}{"seq":3,"pr`, 'f')).toHaveLength(2);
  });

  it('refuses a file with lines missing: a history with holes proves nothing', () => {
    expect(() => parseHistory(`${line(1)}${line(3)}`, 'f')).toThrow('f:2 has seq 3');
  });

  it('refuses what is no history', () => {
    expect(() => parseHistory('{"a":1}\n', 'f')).toThrow('f:1 is no history entry');
  });
});
