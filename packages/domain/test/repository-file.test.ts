import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Mode,
  NO_REPOSITORY_RULES,
  narrowRoute,
  type RepositoryFile,
  type RepositoryFileKey,
  type RepositoryRules,
  type RoutePolicy,
  type RunLimits,
} from '../src/index.js';
import { aRoute } from './builders.js';

const MODES: readonly Mode[] = ['observe', 'propose', 'act'];
const LIMITS: readonly (keyof RunLimits)[] = [
  'wallClockMs',
  'sandboxStartMs',
  'silenceMs',
  'verifyMs',
  'finalizeMs',
  'outputBytes',
  'changedFiles',
  'diffLines',
  'costUsd',
];
const amount = fc.integer({ min: 1, max: 1_000 });
const words = fc.array(fc.constantFrom('npm ci', 'npm test', 'make', 'lint'), { maxLength: 3 });
const paths = fc.array(fc.constantFrom('.github/**', 'db/**', 'infra/**'), { maxLength: 3 });
const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });

const route: fc.Arbitrary<RoutePolicy> = fc
  .record({
    mode: fc.constantFrom(...MODES),
    limits: fc.array(amount, { minLength: 8, maxLength: 8 }),
    costUsd: orNull(amount),
    maxAttempts: amount,
    maxOpenPullRequests: orNull(amount),
    protectedPaths: paths,
    setup: words,
    verify: words,
    prompt: orNull(fc.constantFrom('mend it', 'do it')),
    allow: orNull(fc.uniqueArray(fc.constantFrom<RepositoryFileKey[]>('setup', 'verify', 'prompt'))),
  })
  .map(({ limits, costUsd, maxAttempts, allow, ...rest }) => {
    const base = aRoute(rest);
    const numbers = Object.fromEntries(LIMITS.slice(0, 8).map((name, at) => [name, limits[at] ?? 1]));
    return {
      ...base,
      limits: { ...base.limits, ...numbers, costUsd },
      retry: { ...base.retry, maxAttempts },
      repositoryFile: allow === null ? null : { allow },
    };
  });

const rules: fc.Arbitrary<RepositoryRules> = fc.record({
  enabled: fc.boolean(),
  mode: orNull(fc.constantFrom(...MODES)),
  limits: fc.dictionary(fc.constantFrom(...LIMITS), amount, { noNullPrototype: true }),
  maxAttempts: orNull(amount),
  maxOpenPullRequests: orNull(amount),
  protectedPaths: paths,
  setup: words,
  verify: words,
  prompt: orNull(fc.constantFrom('in German', 'with tests')),
});
const file: fc.Arbitrary<RepositoryFile> = fc.record({
  all: rules,
  routes: fc.dictionary(fc.constantFrom('fix', 'other'), rules, { noNullPrototype: true }),
});

/** null = without limit. */
const isAtMost = (narrow: number | null, wide: number | null): boolean =>
  wide === null || (narrow !== null && narrow <= wide);
const startsWith = (long: readonly string[], short: readonly string[]): boolean =>
  short.every((word, at) => long[at] === word);

describe('.headgate.yaml of a repository', () => {
  it('I7: never widens: every limit at most the centre’s, every protected path kept, no key added that is not allowed', () => {
    fc.assert(
      fc.property(route, file, (central, written) => {
        const narrowing = narrowRoute(central, written);
        if (narrowing.kind === 'optedOut') return;
        const { route: narrow } = narrowing;
        const allows = (key: RepositoryFileKey) => central.repositoryFile?.allow.includes(key) === true;
        expect(MODES.indexOf(narrow.mode)).toBeLessThanOrEqual(MODES.indexOf(central.mode));
        for (const name of LIMITS) {
          expect(isAtMost(narrow.limits[name], central.limits[name]), name).toBe(true);
        }
        expect(narrow.retry.maxAttempts).toBeLessThanOrEqual(central.retry.maxAttempts);
        expect(isAtMost(narrow.maxOpenPullRequests, central.maxOpenPullRequests)).toBe(true);
        expect(narrow.protectedPaths).toEqual(expect.arrayContaining([...central.protectedPaths]));
        for (const key of ['setup', 'verify'] as const) {
          expect(startsWith(narrow[key], central[key])).toBe(true);
          if (!allows(key)) expect(narrow[key]).toEqual(central[key]);
        }
        expect((narrow.prompt ?? '').startsWith(central.prompt ?? '')).toBe(true);
        if (!allows('prompt')) expect(narrow.prompt).toBe(central.prompt);
        const meant = [
          'mode',
          'limits',
          'retry',
          'maxOpenPullRequests',
          'protectedPaths',
          'setup',
          'verify',
          'prompt',
        ];
        const rest = (one: RoutePolicy) => Object.entries(one).filter(([key]) => !meant.includes(key));
        expect(rest(narrow)).toEqual(rest(central));
      }),
    );
  });

  it('I7: what it wants lower is lower', () => {
    fc.assert(
      fc.property(route, file, (central, written) => {
        const narrowing = narrowRoute(central, written);
        if (narrowing.kind === 'optedOut') return;
        for (const one of [written.all, written.routes['fix'] ?? NO_REPOSITORY_RULES]) {
          for (const name of LIMITS) {
            const wanted = one.limits[name];
            if (wanted !== undefined) expect(isAtMost(narrowing.route.limits[name], wanted)).toBe(true);
          }
          expect(narrowing.route.protectedPaths).toEqual(expect.arrayContaining([...one.protectedPaths]));
        }
      }),
    );
  });

  it('I7: an opt-out of all or of the route ends it, and an empty file changes nothing', () => {
    fc.assert(
      fc.property(route, file, (central, written) => {
        const isOut = !written.all.enabled || written.routes['fix']?.enabled === false;
        expect(narrowRoute(central, written).kind).toBe(isOut ? 'optedOut' : 'route');
      }),
    );
    const central = aRoute({ repositoryFile: { allow: ['setup'] } });
    expect(narrowRoute(central, { all: NO_REPOSITORY_RULES, routes: {} })).toEqual({
      kind: 'route',
      route: central,
      leftOut: [],
    });
  });

  it('I7: twice is once: applying it again narrows no further', () => {
    fc.assert(
      fc.property(route, file, (central, written) => {
        const withoutText = { ...written.all, setup: [], verify: [], prompt: null };
        const only = { all: withoutText, routes: {} };
        const once = narrowRoute(central, only);
        if (once.kind === 'optedOut') return;
        expect(narrowRoute(once.route, only)).toEqual(once);
      }),
    );
  });

  it('I7: keys that the route does not allow are named, not silently dropped', () => {
    const all = { ...NO_REPOSITORY_RULES, setup: ['make'], verify: ['make test'], prompt: 'x' };
    const central = aRoute({ repositoryFile: { allow: ['verify'] } });
    expect(narrowRoute(central, { all, routes: {} })).toMatchObject({ leftOut: ['setup', 'prompt'] });
  });
});
