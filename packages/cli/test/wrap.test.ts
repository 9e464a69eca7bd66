import { stripVTControlCharacters } from 'node:util';
import type { Explanation } from '@headgate/sdk';
import fc from 'fast-check';
import pc from 'picocolors';
import { describe, expect, it } from 'vitest';
import { explanationTree } from '../src/terminal/explanation-tree.js';
import { wrapped } from '../src/terminal/wrap.js';
import { recordingTerminal } from './command-line.js';

const live = (columns: number) => ({ ...recordingTerminal(), isLive: true, columns });
const LONG =
  'The route’s condition is not met, and this sentence goes on for longer than a terminal is wide.';

const step = (fields: Partial<Explanation['steps'][number]>): Explanation['steps'][number] => ({
  ...{ at: '2026-01-31T13:50:01.000Z', type: 'receipt.decision', outcome: null, reasonCode: null },
  ...{ message: LONG, rule: null, actor: null, receiptId: null, runId: null, count: 1 },
  lastAt: '2026-01-31T13:50:01.000Z',
  ...fields,
});

const EXPLANATION: Explanation = {
  ref: 'x',
  kind: 'run',
  summary: LONG,
  steps: [
    step({ outcome: 'accept', reasonCode: 'ADMITTED', runId: 'run_1', rule: 'new-version' }),
    step({ type: 'run.claimed', runId: 'run_1' }),
    step({ type: 'run.succeeded', runId: 'run_1' }),
    step({ outcome: 'reject', reasonCode: 'DUPLICATE_DELIVERY' }),
  ],
  waiting: null,
  candidates: [{ kind: 'check', id: 'check-1', label: LONG }],
};

describe('lines that are longer than the terminal', () => {
  it('go on under their own text, with the tree beside them', () => {
    const text = explanationTree(EXPLANATION, live(60)).replaceAll(/\d\d:\d\d:\d\d/g, 'HH:MM:SS');
    expect(text).toMatchInlineSnapshot(`
      "why  x  (run)
      The route’s condition is not met, and this sentence goes on
      for longer than a terminal is wide.
      ├ HH:MM:SS  accept  ADMITTED  The route’s condition is not
      │   │       met, and this sentence goes on for longer than a
      │   │       terminal is wide.  rule new-version, run_1
      │   ├ HH:MM:SS  run.claimed  The route’s condition is not
      │   │           met, and this sentence goes on for longer
      │   │           than a terminal is wide.
      │   └ HH:MM:SS  run.succeeded  The route’s condition is not
      │               met, and this sentence goes on for longer
      │               than a terminal is wide.
      └ HH:MM:SS  reject  DUPLICATE_DELIVERY  The route’s
                  condition is not met, and this sentence goes on
                  for longer than a terminal is wide.

      It may also mean:
        The route’s condition is not met, and this sentence goes
          on for longer than a terminal is wide."
    `);
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(60);
  });

  it('are left as they are where nobody looks: what is piped is read line by line', () => {
    const piped = explanationTree(EXPLANATION, recordingTerminal());
    expect(piped.split('\n')).toHaveLength(9);
    expect(piped).toContain(`ADMITTED  ${LONG}  rule new-version`);
  });

  it('colours have no width', () => {
    const colors = pc.createColors(true);
    const line = `${colors.red('one')} ${colors.bold('two three')} four`;
    expect(wrapped(line, live(18))).toEqual([line]);
    expect(wrapped(`${line} five six`, live(22)).map((one) => stripVTControlCharacters(one))).toEqual([
      'one two three four',
      'five six',
    ]);
  });

  it('keep every word, whole and in order, whatever is wrapped', () => {
    const words = fc.array(fc.stringMatching(/^[a-z_#/.-]{1,70}$/), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(words, fc.integer({ min: 24, max: 120 }), fc.nat({ max: 3 }), (all, columns, indent) => {
        const lines = wrapped(all.join(' '), live(columns), ' '.repeat(indent));
        expect(lines.join(' ').trim().split(/ +/)).toEqual(all);
        for (const line of lines) {
          if (line.length > columns) expect(line.trim()).not.toContain(' ');
        }
      }),
    );
  });
});
