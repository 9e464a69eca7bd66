import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type EventFacts,
  explainRouting,
  NO_FACTS_TOLD,
  type Policy,
  type RouteScope,
  readStoredPolicy,
  routeSignal,
  type Signal,
  WIDE_SCOPE,
} from '../src/index.js';
import { aRoute, aSignal } from './builders.js';

const policyOf = (...scopes: readonly Partial<RouteScope>[]): Policy =>
  ({
    digest: 'd',
    sources: [],
    routes: scopes.map((scope, at) => aRoute({ id: `r${at}`, scope: { ...WIDE_SCOPE, ...scope } })),
  }) as unknown as Policy;

const readersFor = (facts: Partial<EventFacts>) => ({
  evaluate: () => ({ value: true }),
  factsOf: () => ({ ...NO_FACTS_TOLD, ...facts }),
});
const rule = (scope: Partial<RouteScope>, facts: Partial<EventFacts>, signal: Signal = aSignal()): string => {
  const routing = routeSignal(signal, policyOf(scope), readersFor(facts));
  return routing.kind === 'routes' ? 'taken' : (routing.verdict.rule ?? '');
};
const person = (login: string, isBot = false) => ({ login, isBot });

describe('what narrows a route', () => {
  it.each<[string, Partial<RouteScope>, Partial<EventFacts>, string]>([
    ['a topic it has', { topics: ['node', 'go'] }, { topics: ['go'] }, 'taken'],
    ['no topic of them', { topics: ['node'] }, { topics: ['go'] }, 'route.repositories'],
    ['topics that nobody tells', { topics: ['node'] }, {}, 'route.repositories'],
    ['a property', { properties: { tier: 'gold' } }, { properties: { tier: 'gold' } }, 'taken'],
    [
      'another value of a property',
      { properties: { tier: 'gold' } },
      { properties: { tier: 'tin' } },
      'route.repositories',
    ],
    ['an excepted repository', { exceptRepositories: ['acme/*'] }, {}, 'route.repositories'],
    ['a branch', { branches: ['release/*'] }, { branch: 'release/1' }, 'taken'],
    ['a branch below', { branches: ['release/*'] }, { branch: 'release/1/x' }, 'route.branches'],
    ['branches have case', { branches: ['main'] }, { branch: 'Main' }, 'route.branches'],
    ['no branch told', { branches: ['main'] }, {}, 'route.branches'],
    ['a label in any case', { labels: { any: ['Agent'], none: [] } }, { labels: ['agent'] }, 'taken'],
    ['a label that is missing', { labels: { any: ['agent'], none: [] } }, { labels: [] }, 'route.labels'],
    ['labels not told', { labels: { any: ['agent'], none: [] } }, {}, 'route.labels'],
    ['an unwanted label', { labels: { any: [], none: ['wip'] } }, { labels: ['WIP'] }, 'route.labels'],
    ['unwanted labels not told', { labels: { any: [], none: ['wip'] } }, {}, 'taken'],
    ['an author by pattern', { authors: ['ada-*'] }, { author: person('Ada-L') }, 'taken'],
    ['another author', { authors: ['ada'] }, { author: person('eve') }, 'route.authors'],
    ['an association', { associations: ['OWNER', 'MEMBER'] }, { association: 'MEMBER' }, 'taken'],
    ['a stranger', { associations: ['MEMBER'] }, { association: 'NONE' }, 'route.associations'],
    ['a fork', { forks: false }, { isFork: true }, 'route.forks'],
    ['a fork or not: not told', { forks: false }, {}, 'taken'],
    ['a draft', { drafts: false }, { isDraft: true }, 'route.drafts'],
    ['a bot', { bots: false }, { author: person('x[bot]', true) }, 'route.bots'],
    ['a person where bots are refused', { bots: false }, { author: person('ada') }, 'taken'],
  ])('I7: %s', (_what, scope, facts, expected) => {
    expect(rule(scope, facts)).toBe(expected);
  });

  it('I7: a push that lists its files is taken when it touches a path, one that lists none always', () => {
    const policy = { ...policyOf({}), routes: [aRoute({ paths: ['src/**', '*.md'] })] };
    const taken = (paths: readonly string[] | null) =>
      routeSignal(aSignal(), policy, readersFor({ paths })).kind === 'routes';
    expect(taken(['src/a/b.ts'])).toBe(true);
    expect(taken(['docs/README.md'])).toBe(false);
    expect(taken(['README.md', 'x'])).toBe(true);
    expect(taken(null)).toBe(true);
  });

  const facts = fc.record({
    topics: fc.option(fc.subarray(['a', 'b']), { nil: null }),
    properties: fc.constant(null),
    branch: fc.option(fc.constantFrom('main', 'release/1'), { nil: null }),
    labels: fc.option(fc.subarray(['x', 'y']), { nil: null }),
    author: fc.option(fc.record({ login: fc.constantFrom('ada', 'eve'), isBot: fc.boolean() }), {
      nil: null,
    }),
    association: fc.option(fc.constantFrom('OWNER', 'NONE'), { nil: null }),
    isFork: fc.option(fc.boolean(), { nil: null }),
    isDraft: fc.option(fc.boolean(), { nil: null }),
    paths: fc.constant(null),
  });
  const scope = fc.record({
    exceptRepositories: fc.subarray(['acme/api', 'other/*']),
    topics: fc.subarray(['a', 'b']),
    properties: fc.constant({}),
    branches: fc.subarray(['main', 'release/*']),
    labels: fc.record({ any: fc.subarray(['x']), none: fc.subarray(['y']) }),
    authors: fc.subarray(['ada', 'e*']),
    associations: fc.subarray(['OWNER']),
    forks: fc.boolean(),
    drafts: fc.boolean(),
    bots: fc.boolean(),
  });

  it('I7: the routes that take a signal are exactly those whose every rule holds, in file order, whatever the others are', () => {
    fc.assert(
      fc.property(fc.array(scope, { minLength: 1, maxLength: 5 }), facts, (scopes, told) => {
        const policy = policyOf(...scopes);
        const readers = readersFor(told);
        const explained = explainRouting(aSignal(), policy, readers).filter(({ takes }) => takes);
        const routing = routeSignal(aSignal(), policy, readers);
        const taking = routing.kind === 'routes' ? routing.routes.map(({ id }) => id) : [];
        expect(taking).toEqual(explained.map(({ route }) => route));
        for (const [at, alone] of scopes.entries()) {
          const isTaken = routeSignal(aSignal(), policyOf(alone), readers).kind === 'routes';
          expect(isTaken).toBe(taking.includes(`r${at}`));
        }
      }),
    );
  });

  it('I7: one more filter never lets more through; the rejecting rule is named and rejects by itself', () => {
    fc.assert(
      fc.property(scope, facts, (narrow, told) => {
        const routing = routeSignal(aSignal(), policyOf(narrow), readersFor(told));
        const wide = routeSignal(aSignal(), policyOf({}), readersFor(told));
        expect(wide.kind).toBe('routes');
        if (routing.kind === 'routes') return;
        const [explained] = explainRouting(aSignal(), policyOf(narrow), readersFor(told));
        const first = explained?.rules.find(({ holds }) => !holds);
        expect(routing.verdict.rule).toBe(first?.rule);
        expect(routing.verdict.reasonCode).toBe(first?.reasonCode);
      }),
    );
  });

  it('I1: what only events can tell is not asked of a person or a tick', () => {
    const manual = aSignal({ trigger: 'manual', type: 'manual', source: 'api', data: { route: 'r0' } });
    const strict = { labels: { any: ['x'], none: [] }, branches: ['main'], authors: ['ada'], bots: false };
    expect(rule(strict, {}, manual)).toBe('taken');
    expect(rule({ ...strict, topics: ['a'] }, {}, manual)).toBe('route.repositories');
  });
});

describe('policies that an older version stored', () => {
  it('are read with what they lacked: a route without a scope took everything, and still does', () => {
    const { scope: _s, debounce: _d, maxOpenPullRequests: _m, repositoryFile: _r, ...old } = aRoute();
    const policy = readStoredPolicy({ digest: 'd', tenants: [], sources: [], routes: [old] });
    expect(policy.routes[0]).toEqual(aRoute());
    expect(readStoredPolicy(JSON.parse(JSON.stringify(policy)))).toEqual(policy);
  });
});
