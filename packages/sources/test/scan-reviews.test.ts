/** A look that is cut goes on where it stopped (I10). */
import { expect, it } from 'vitest';
import type { FactMemory, GithubAsker, LookRequest } from '../src/index.js';
import { lookAt } from '../src/index.js';
import { aSource } from './sources.js';

const NOW = new Date('2026-03-01T12:00:00Z');
const SAID_AT = '2026-03-01T11:59:00Z';
const NUMBERS = Array.from({ length: 53 }, (_one, at) => at + 1);

const pull = (number: number) => ({
  number,
  state: 'open',
  created_at: '2026-01-01T00:00:00Z',
  updated_at: SAID_AT,
  head: { ref: `topic-${number}`, sha: 'b'.repeat(40), repo: { id: 42 } },
  base: { ref: 'main', repo: { id: 42 } },
});
const review = (number: number) => ({
  id: 100 + number,
  state: 'COMMENTED',
  body: 'please mend',
  submitted_at: SAID_AT,
  commit_id: 'a'.repeat(40),
  user: { id: 5, login: 'ada', type: 'User' },
});

/** A forge that holds the same, whenever it is asked. */
const forge: GithubAsker = {
  read: ({ path, shape }) => {
    const number = /pulls\/(\d+)\/reviews$/.exec(path)?.[1];
    const home = { id: 42, full_name: 'acme/api', default_branch: 'main' };
    const body =
      number !== undefined ? [review(Number(number))] : path.endsWith('/pulls') ? NUMBERS.map(pull) : home;
    return Promise.resolve({
      kind: 'found',
      value: shape.parse(body),
      etag: null,
      next: null,
      isCopy: false,
    });
  },
};

it('I10: of more pull requests than one look asks for, the next look goes on with the others, each review once', async () => {
  const source = aSource({ token: 'file:token' });
  const [repository] = source.repositories;
  if (repository === undefined) throw new Error('no repository');
  const memory = new Map<string, FactMemory>();
  const look = async (): Promise<{ found: number; isWhole: boolean }> => {
    const request: LookRequest = {
      ...{ source, repository, memory, validators: {}, now: NOW },
      listened: ['github.pull_request_review.submitted'],
      since: new Date('2026-03-01T11:58:00Z'),
      signal: AbortSignal.timeout(5_000),
    };
    const seen = await lookAt(request, forge);
    if (seen.kind !== 'looked') throw new Error(seen.detail);
    for (const { fact, version } of seen.changes) memory.set(fact, { version, changedAt: NOW });
    const signals = seen.changes.flatMap(({ signals: told }) => told);
    expect(signals.every(({ inputVersion }) => inputVersion === 'a'.repeat(40))).toBe(true);
    return { found: signals.length, isWhole: seen.isWhole };
  };
  expect(await look()).toEqual({ found: 50, isWhole: false });
  expect(await look()).toEqual({ found: 3, isWhole: true });
  expect(await look()).toEqual({ found: 0, isWhole: true });
});
