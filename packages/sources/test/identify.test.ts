import { readFileSync } from 'node:fs';
import type { Signal } from '@headgate/domain';
import { allSamples, identify, identityMarkdown } from '@headgate/sources';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HEAD, payloadOf, RECEIVED_AT, signalOf } from './deliveries.js';

const REPOSITORY = { externalId: '42', fullName: 'acme/api', defaultBranch: 'main' };

function aSignal(changes: Partial<Signal>): Signal {
  return {
    ...signalOf({}, { event: 'push' }),
    repository: REPOSITORY,
    target: { kind: 'branch', id: 'main', ref: 'main', aspect: null },
    inputVersion: HEAD,
    ...changes,
  };
}

const aTick = (changes: Partial<Signal>): Signal =>
  aSignal({
    trigger: 'schedule',
    via: 'timer',
    type: 'schedule.tick',
    source: 'schedule/tidy-0',
    ...changes,
  });

const aCall = (changes: Partial<Signal>): Signal =>
  aSignal({ trigger: 'manual', via: 'api', type: 'manual', source: 'api', data: {}, ...changes });

const keyOf = (signal: Signal, route: { id: string } | null = null): string => {
  const identified = identify(signal, route);
  return identified.kind === 'work' ? identified.work.workKey : identified.reasonCode;
};

describe('which work a signal asks for', () => {
  it.each([
    ['check_run', 'check_run.completed#0', '186853002/pr/2/check/Octocoders-linter'],
    ['check_run', 'check_run.rerequested#0', '526/branch/master/check/randscape'],
    ['check_suite', 'check_suite.completed#0', '186853002/pr/2/suite/29310'],
    ['workflow_run', 'workflow_run.completed#1', '300029405/branch/master/workflow/2823525'],
    ['push', 'push#4', '186853002/branch/master'],
    ['push', 'push#0', '186853002/tag/simple-tag'],
    ['pull_request', 'pull_request.opened#0', '186853002/pr/2'],
    ['pull_request_review', 'pull_request_review.submitted#0', '186853002/pr/2/review/237895671'],
    [
      'pull_request_review_comment',
      'pull_request_review_comment.created#0',
      '186853002/pr/2/review/237895671',
    ],
    ['issues', 'issues.opened#0', '186853002/issue/1'],
    ['issue_comment', 'issue_comment.created#0', '186853002/issue/1'],
    ['release', 'release.published#0', '186853002/release/17372790'],
    ['star', 'star.created#0', '186853002/star'],
  ])('I4: of %s, %s is %s', (event, sample, key) => {
    expect(keyOf(signalOf(payloadOf(sample), { event }))).toBe(key);
  });

  it('I4: is the same however often it is delivered, by whichever hook, and after the repository was renamed', () => {
    const samples = fc.constantFrom(...allSamples());
    const name = fc.stringMatching(/^[a-z]{1,8}\/[a-z]{1,8}$/);
    fc.assert(
      fc.property(
        samples,
        name,
        fc.stringMatching(/^[0-9]{1,9}$/),
        ({ event, payload }, fullName, hookId) => {
          const first = identify(signalOf(payload, { event, guid: 'g', hookId: '1' }));
          const renamed = structuredClone(payload);
          if (renamed['repository']) Object.assign(renamed['repository'], { full_name: fullName });
          expect(identify(signalOf(payload, { event, guid: 'g', hookId: '1' }))).toEqual(first);
          expect(identify(signalOf(renamed, { event, guid: 'g', hookId }))).toEqual(first);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('I4: two targets never share a key, whatever their names', () => {
    // Names made to be mistaken for one another: slashes, escapes and the words of the key itself.
    const word = fc.constantFrom('a', '/', '%', '%2F', '/check/', 'check', 'pr/1', 'manual', 'é🌊');
    const text = fc.array(word, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(''));
    const target = fc.record({ branch: text, aspect: fc.option(text) });
    const signalFor = ({ branch, aspect }: { branch: string; aspect: string | null }): Signal =>
      aSignal({
        type: aspect === null ? 'github.push' : 'github.check_run.completed',
        target: { kind: 'branch', id: branch, ref: branch, aspect },
      });
    fc.assert(
      fc.property(target, target, (one, other) => {
        const isSame = one.branch === other.branch && one.aspect === other.aspect;
        expect(keyOf(signalFor(one)) === keyOf(signalFor(other))).toBe(isSame);
      }),
      { numRuns: 1000 },
    );
  });

  it('I1: a schedule is its own work, at the head it found, or at its nominal time without a repository', () => {
    const nominal = new Date('2026-11-30T03:00:00Z');
    expect(identify(aTick({ emittedAt: nominal }))).toEqual({
      kind: 'work',
      work: { workKey: '42/schedule/tidy-0', inputVersion: HEAD },
    });
    expect(
      identify(aTick({ repository: null, target: null, inputVersion: null, emittedAt: nominal })),
    ).toEqual({
      kind: 'work',
      work: { workKey: 'schedule/tidy-0', inputVersion: '2026-11-30T03:00:00.000Z' },
    });
    expect(keyOf(aTick({ inputVersion: null }))).toBe('HEAD_UNRESOLVED');
  });

  it('I1: manual work has the key it was given, else one of its route and target', () => {
    const route = { id: 'fix' };
    const pull = { kind: 'pull_request', id: '7', ref: null, aspect: null } as const;
    const whole = { kind: 'repository', id: '42', ref: null, aspect: null } as const;
    expect(keyOf(aCall({ data: { workKey: '42/pr/7/check/unit' } }), route)).toBe('42/pr/7/check/unit');
    expect(keyOf(aCall({ target: pull }), route)).toBe('42/manual/fix/pr/7');
    expect(keyOf(aCall({}), route)).toBe('42/manual/fix/branch/main');
    expect(keyOf(aCall({ target: whole }), route)).toBe('42/manual/fix');
    expect(keyOf(aCall({ target: null }), route)).toBe('42/manual/fix');
  });

  it('I4: a manual call without repository is its own piece of work, unless it names a version', () => {
    const call = (eventId: string, inputVersion: string | null) =>
      identify(aCall({ eventId, repository: null, target: null, inputVersion }), { id: 'fix' });
    expect(call('a', null)).not.toEqual(call('b', null));
    expect(call('a', 'v1')).toEqual(call('b', 'v1'));
  });

  it('says what is missing instead of guessing', () => {
    expect(keyOf(aSignal({ repository: null }))).toBe('TASK_CONTRACT_INVALID');
    expect(keyOf(aSignal({ target: null }))).toBe('HEAD_UNRESOLVED');
    expect(keyOf(aSignal({ inputVersion: null }))).toBe('HEAD_UNRESOLVED');
    const gone = { ...payloadOf('push#4'), after: '0'.repeat(40), deleted: true };
    expect(keyOf(signalOf(gone, { event: 'push' }))).toBe('TARGET_CLOSED');
    expect(keyOf(signalOf({ ...payloadOf('delete#0'), ref_type: 'branch' }, { event: 'delete' }))).toBe(
      'TARGET_CLOSED',
    );
  });

  it('takes keys of any text up to 2 048 bytes, and no longer ones', () => {
    for (const workKey of ['*', 'a:b', '🌊', 'x'.repeat(2048)]) {
      expect(keyOf(aCall({ data: { workKey } }))).toBe(workKey);
    }
    expect(keyOf(aCall({ data: { workKey: `${'é'.repeat(1024)}x` } }))).toBe('TASK_CONTRACT_INVALID');
  });

  it('is described by the table in docs/sources.md', () => {
    const document = readFileSync(new URL('../../../docs/sources.md', import.meta.url), 'utf8');
    // The formatter pads the columns.
    const plain = (text: string): string => text.replace(/-{3,}/g, '---').replace(/ +/g, ' ');
    expect(plain(document)).toContain(plain(identityMarkdown()));
  });

  it('is what the route writes, where it writes something', () => {
    const signal = aSignal({});
    const written = (key: string | null, version: string | null) => identify(signal, null, { key, version });
    expect(written('42/nightly', null)).toEqual({
      kind: 'work',
      work: { workKey: '42/nightly', inputVersion: HEAD },
    });
    expect(written(null, 'v2')).toEqual({
      kind: 'work',
      work: { workKey: '42/branch/main', inputVersion: 'v2' },
    });
    const unnamed = identify(aSignal({ target: null, inputVersion: null }), null, {
      key: '42/k',
      version: 'v',
    });
    expect(unnamed).toEqual({ kind: 'work', work: { workKey: '42/k', inputVersion: 'v' } });
    expect(written('', null)).toMatchObject({ kind: 'unresolved', reasonCode: 'TASK_CONTRACT_INVALID' });
  });

  it('does not depend on when the signal came', () => {
    const signal = aSignal({});
    expect(identify({ ...signal, receivedAt: new Date(RECEIVED_AT.getTime() + 1e9) })).toEqual(
      identify(signal),
    );
  });
});
