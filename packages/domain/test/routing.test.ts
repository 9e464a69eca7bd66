import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ConditionResult,
  listensTo,
  matchesRepository,
  NO_FACTS_TOLD,
  type Policy,
  type RoutePolicy,
  routeSignal,
  routesToWake,
  type Signal,
} from '../src/index.js';
import { aRoute, aSignal } from './builders.js';

const aPolicy = (routes: readonly RoutePolicy[]): Policy => ({
  digest: 'd',
  tenants: [],
  sources: [
    {
      id: 'acme',
      kind: 'github',
      webhookSecrets: [],
      app: null,
      token: null,
      baseUrl: null,
      authority: 'payload',
      replayWindowMs: null,
      toleranceMs: 300_000,
      from: [],
      scan: null,
      redeliveries: 0,
      repositories: [],
      tenant: 'default',
      realForge: true,
    },
  ],
  agents: [],
  routes,
  queues: [],
  limits: {
    maxActive: null,
    maxActivePerRepository: null,
    maxActivePerUser: null,
    maxActiveByRisk: {},
    maxActiveByProvider: {},
  },
  budgets: { perRunUsd: null, perDayUsd: null },
  lease: { ttlMs: 1, heartbeatMs: 1, renewDeadlineMs: 1, stopMarginMs: 1 },
  retentionDays: { receipts: 1, payloads: 1, events: 1, history: 1 },
});

/** Conditions in these tests are the words `true`, `false` and `broken`. */
const evaluate = (condition: { readonly source: string }): ConditionResult =>
  condition.source === 'broken' ? { error: 'no such field' } : { value: condition.source === 'true' };

const readers = { evaluate, factsOf: () => NO_FACTS_TOLD };

const routed = (signal: Signal, ...routes: RoutePolicy[]) => {
  const result = routeSignal(signal, aPolicy(routes), readers);
  return result.kind === 'routes' ? result.routes.map(({ id }) => id).join(' ') : result.verdict.reasonCode;
};
const when = (source: string) => ({ source });

describe('which route takes an event', () => {
  it('I7: every one that matches, in file order', () => {
    expect(
      routed(aSignal(), aRoute({ id: 'a', when: when('false') }), aRoute({ id: 'b' }), aRoute({ id: 'c' })),
    ).toBe('b c');
  });

  it('I7: a type that no route lists is NO_ROUTE', () => {
    expect(routed(aSignal({ type: 'github.push' }), aRoute())).toBe('NO_ROUTE');
    expect(routed(aSignal())).toBe('NO_ROUTE');
  });

  it('I7: a false condition is NOT_ELIGIBLE and names route and condition; one that cannot be evaluated too', () => {
    const policy = aPolicy([aRoute({ id: 'fix', when: when('false') })]);
    const result = routeSignal(aSignal(), policy, readers);
    expect(result).toMatchObject({
      kind: 'none',
      verdict: { outcome: 'reject', reasonCode: 'NOT_ELIGIBLE', detail: 'Route "fix": "false" is false.' },
    });
    const broken = routeSignal(aSignal(), aPolicy([aRoute({ when: when('broken') })]), readers);
    expect(broken).toMatchObject({ verdict: { reasonCode: 'NOT_ELIGIBLE' } });
    expect(JSON.stringify(broken)).toContain('no such field');
  });

  it('I7: a repository outside the route is OUT_OF_SCOPE, also when the signal names none', () => {
    const route = aRoute({ repositories: ['acme/web-*'] });
    expect(routed(aSignal(), route)).toBe('OUT_OF_SCOPE');
    expect(routed(aSignal({ repository: null }), route)).toBe('OUT_OF_SCOPE');
  });

  it('I7: of several failures the nearest miss is told', () => {
    const wrongType = aRoute({ id: 'a', on: [{ kind: 'manual' }] });
    const outOfScope = aRoute({ id: 'b', repositories: ['acme/web'] });
    const notEligible = aRoute({ id: 'c', when: when('false') });
    expect(routed(aSignal(), wrongType, outOfScope)).toBe('OUT_OF_SCOPE');
    expect(routed(aSignal(), notEligible, outOfScope, wrongType)).toBe('NOT_ELIGIBLE');
  });

  it('I7: a source that the route leaves out, and a source of another tenant, do not reach it', () => {
    expect(routed(aSignal(), aRoute({ sources: ['other'] }))).toBe('OUT_OF_SCOPE');
    expect(routed(aSignal(), aRoute({ tenant: 'other' }))).toBe('NO_ROUTE');
  });

  it('an event type takes what lies below it, at a dot', () => {
    const on = { kind: 'event', type: 'github.issue' } as const;
    expect(listensTo(on, aSignal({ type: 'github.issue.opened' }))).toBe(true);
    expect(listensTo(on, aSignal({ type: 'github.issue_comment.created' }))).toBe(false);
  });
});

describe('signals that name their route', () => {
  const manual = (route: string | null) =>
    aSignal({ trigger: 'manual', type: 'manual', source: 'api', data: route === null ? {} : { route } });

  it('I1: a manual signal reaches the named route only, and no condition about events is asked', () => {
    const routes = [aRoute({ id: 'a' }), aRoute({ id: 'b', when: when('false') })];
    expect(routed(manual('b'), ...routes)).toBe('b');
  });

  it('I2: it stays bound by the route: trigger and repositories', () => {
    const eventOnly = aRoute({ id: 'b', on: [{ kind: 'event', type: 'x' }] });
    expect(routed(manual('b'), eventOnly)).toBe('NO_ROUTE');
    expect(routed(manual('b'), aRoute({ id: 'b', repositories: ['acme/web'] }))).toBe('OUT_OF_SCOPE');
  });

  it('an unknown name is NO_ROUTE and repeats it; no name at all is TASK_CONTRACT_INVALID', () => {
    const result = routeSignal(manual('typo'), aPolicy([aRoute()]), readers);
    expect(result).toMatchObject({
      verdict: { reasonCode: 'NO_ROUTE', detail: 'No route is called "typo".' },
    });
    expect(routed(manual(null), aRoute())).toBe('TASK_CONTRACT_INVALID');
  });

  it('an event cannot choose its route by what its payload says', () => {
    expect(routed(aSignal({ data: { route: 'b' } }), aRoute({ id: 'a' }), aRoute({ id: 'b' }))).toBe('a b');
  });
});

describe('repository patterns', () => {
  it.each([
    ['acme/api', 'acme/api', true],
    ['acme/api', 'Acme/API', true],
    ['acme/web-*', 'acme/web-shop', true],
    ['acme/web-*', 'acme/web-', true],
    ['acme/web-*', 'acme/api', false],
    ['acme/*', 'acme/a/b', false],
    ['**', 'acme/a/b', true],
    ['*', 'acme/api', true],
    ['acme/ap?', 'acme/api', true],
    ['acme/a.i', 'acme/api', false],
    ['acme/api', 'evil-acme/api', false],
    ['acme/(x|api)', 'acme/api', false],
  ])('%s against %s is %s', (pattern, name, expected) => {
    expect(matchesRepository(pattern, name)).toBe(expected);
  });

  it('a name without wildcards matches itself only, whatever characters it has', () => {
    const name = fc.string({ unit: fc.constantFrom('a', '.', '+', '(', '[', '$', '/', '-'), minLength: 1 });
    fc.assert(
      fc.property(name, name, (a, b) => {
        expect(matchesRepository(a, b)).toBe(a === b);
      }),
    );
  });
});

describe('a delivery whose payload only wakes', () => {
  const woken = (signal: Signal, ...routes: RoutePolicy[]) => {
    const result = routesToWake(signal, aPolicy(routes));
    return result.kind === 'routes' ? result.routes.map(({ id }) => id).join(' ') : result.verdict.reasonCode;
  };
  const signal = aSignal({ type: 'github.check_run.completed' });
  const listening = aRoute({ on: [{ kind: 'event', type: 'github.check_run' }] });

  it('I7: wakes every route that listens to its type, whatever the payload says to the other rules', () => {
    const strict = aRoute({
      ...listening,
      id: 'strict',
      when: { source: 'false' },
      scope: { ...listening.scope, labels: { any: ['agent'], none: [] }, topics: ['node'], drafts: false },
    });
    expect(woken(signal, { ...listening, id: 'wide' }, strict)).toBe('wide strict');
  });

  it('I7: wakes nobody for a type, a source or a repository that no route takes', () => {
    expect(woken(aSignal({ type: 'github.push' }), listening)).toBe('NO_ROUTE');
    expect(woken(signal, { ...listening, sources: ['another'] })).toBe('OUT_OF_SCOPE');
    expect(woken(signal, { ...listening, repositories: ['else/where'] })).toBe('OUT_OF_SCOPE');
    expect(woken(signal)).toBe('NO_ROUTE');
  });
});
