import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatId, type Reading, readReference, systemIds } from '../src/index.js';

const kinds = (ref: string): string[] => readReference(ref).map((reading) => reading.kind);
const SHA = '9f31c2aa00112233445566778899aabbccddeeff';

describe('reading a reference', () => {
  it('I17: takes our own ids for what they are, and nothing else', () => {
    const runId = systemIds.next('run');
    expect(readReference(formatId('run', runId))).toEqual([{ kind: 'run', runId }]);
    expect(kinds(formatId('task', systemIds.next('task')))).toEqual(['task']);
    expect(kinds(formatId('rcpt', systemIds.next('rcpt')))).toEqual(['receipt']);
    expect(kinds(`http://127.0.0.1:8080/runs/${formatId('run', runId)}?x=1`)[0]).toBe('run');
    // Looks like one, and is none: it may still be a work key.
    expect(kinds('run_nonsense')).toEqual(['delivery', 'workKey']);
  });

  it.each<[string, Reading]>([
    ['acme/api#7', { kind: 'target', repository: 'acme/api', targetId: '7' }],
    ['  acme/api#7 ', { kind: 'target', repository: 'acme/api', targetId: '7' }],
    ['#42', { kind: 'target', repository: null, targetId: '42' }],
    ['https://github.com/acme/api/pull/7', { kind: 'target', repository: 'acme/api', targetId: '7' }],
    [
      'https://github.com/acme/api/issues/12#issuecomment-1',
      { kind: 'target', repository: 'acme/api', targetId: '12' },
    ],
    [
      'https://ghe.example/acme/api.git/pull/7/files',
      { kind: 'target', repository: 'acme/api', targetId: '7' },
    ],
    [
      'https://github.com/acme/api/tree/feature/x',
      { kind: 'target', repository: 'acme/api', targetId: 'feature/x' },
    ],
    [`https://github.com/acme/api/commit/${SHA}`, { kind: 'sha', prefix: SHA, repository: 'acme/api' }],
    [
      `https://github.com/acme/api/pull/7/commits/${SHA}`,
      { kind: 'sha', prefix: SHA, repository: 'acme/api' },
    ],
    ['https://github.com/acme/api', { kind: 'repository', repository: 'acme/api' }],
    ['https://github.com/acme/api/actions/runs/1', { kind: 'repository', repository: 'acme/api' }],
    [
      `acme/api@${SHA.slice(0, 7).toUpperCase()}`,
      { kind: 'sha', prefix: SHA.slice(0, 7), repository: 'acme/api' },
    ],
  ])('reads %s first as what it looks like', (ref, first) => {
    expect(readReference(ref)[0]).toEqual(first);
  });

  it('tries a delivery and a work key before a SHA or a repository, as those may look like anything', () => {
    expect(kinds('9F31C2A')).toEqual(['delivery', 'workKey', 'sha']);
    expect(readReference('9F31C2A').at(-1)).toEqual({ kind: 'sha', prefix: '9f31c2a', repository: null });
    expect(kinds('acme/api')).toEqual(['delivery', 'workKey', 'repository']);
    expect(kinds('9f31c2')).toEqual(['delivery', 'workKey']);
    expect(kinds('*')).toEqual(['delivery', 'workKey']);
    expect(kinds('')).toEqual([]);
    expect(kinds('   ')).toEqual([]);
  });

  it('never fails, whatever is pasted', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.webUrl({ withFragments: true })), (text) => {
        for (const reading of readReference(text)) expect(typeof reading.kind).toBe('string');
      }),
    );
    expect(kinds('http://[')).toEqual(['delivery', 'workKey']);
    expect(kinds('https://github.com/%E0%A4%A/api/pull/1')).toContain('workKey');
  });
});
