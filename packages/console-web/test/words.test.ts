import { describe, expect, it } from 'vitest';
import { counted, sizeWords, usd } from '../src/parts/amounts.js';
import { partsOfSentence } from '../src/parts/sentence.js';
import { firstLine } from '../src/run/first-line.js';

const RUN = 'run_01m8r1vmf6e2a8xspw0eb288ax';
const TASK = 'task_01m8r1vmf7ebsteq6r924nfqxk';

describe('a sentence of the API', () => {
  it('is taken apart into words, instants and ids that lead to their pages', () => {
    expect(partsOfSentence(`${RUN} ends at 2026-12-08T05:39:50.585Z (${TASK}).`)).toEqual([
      { kind: 'id', id: RUN, page: `/runs/${RUN}` },
      { kind: 'text', text: ' ends at ' },
      { kind: 'instant', at: '2026-12-08T05:39:50.585Z' },
      { kind: 'text', text: ' (' },
      { kind: 'id', id: TASK, page: `/why?ref=${TASK}` },
      { kind: 'text', text: ').' },
    ]);
    for (const [id, page] of [
      ['sch_01m8r1vmx3er6bggfadjhew7ct', '/schedules/'],
      ['goal_01m8r1vmy0ebx998253fnd429e', '/goals/'],
    ] as const) {
      expect(partsOfSentence(id)).toEqual([{ kind: 'id', id, page: page + id }]);
    }
  });

  it('keeps whole what only holds an id: a branch, a key; and what is none', () => {
    for (const text of [`agent/${TASK}/${RUN}`, `push:${RUN}:refs/heads/x`, 'run_1 and 2026-12-08', '']) {
      expect(partsOfSentence(text)).toEqual(text === '' ? [] : [{ kind: 'text', text }]);
    }
  });
});

describe('a message', () => {
  it('stands as it is where it is a line, and by its first line where it is more', () => {
    expect(firstLine('npm ci')).toBe('npm ci');
    expect(firstLine('exited with 1:\n+ actual')).toBe('exited with 1: …');
    expect(firstLine('x'.repeat(900))).toBe(`${'x'.repeat(240)}…`);
  });
});

describe('amounts', () => {
  it('tells little from nothing', () => {
    expect([0, 0.0034, 0.005, 1.2].map(usd)).toEqual(['$0.00', '<$0.01', '$0.01', '$1.20']);
  });

  it('has a unit that fits, and a noun that does', () => {
    expect([12, 1_500, 1_468_224].map(sizeWords)).toEqual(['12 B', '1.5 kB', '1.5 MB']);
    expect([counted(1, 'call'), counted(1_200, 'call')]).toEqual(['1 call', '1,200 calls']);
  });
});
