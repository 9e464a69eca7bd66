/**
 * Which routes take a signal (I7): every one whose rules all hold, in file order. Each of them decides by itself and
 * has its own receipt; routes that mean the same work (the same key) share its task, so it is run once. When none
 * takes it, one receipt names what stood in the way: the rule of the route that came nearest, and what the others
 * that listen said.
 *
 * A manual call or a tick names its route (`routeName`), and only that one is asked.
 * A source belongs to a tenant, and its signals reach that tenant's routes only.
 */
import type { Verdict } from '../admission/types.js';
import type { Policy, RoutePolicy } from '../policy.js';
import type { ReasonCode } from '../reasons.js';
import { quoted } from '../sentences.js';
import type { Signal } from '../signal.js';
import { NO_FACTS_TOLD } from './eligibility.js';
import {
  type EvaluateCondition,
  type Obstacle,
  ROUTE_RULES,
  type Rule,
  type RuleQuestion,
  type SignalReaders,
} from './rules.js';

export type Routing =
  /** At least one. */
  | { readonly kind: 'routes'; readonly routes: readonly RoutePolicy[] }
  | { readonly kind: 'none'; readonly verdict: Verdict };

/** How far a route got before it did not match. */
interface Miss extends Obstacle {
  readonly depth: number;
  readonly rule: string;
}

/** Misses whose sentences stand on the receipt, besides the nearest. */
const MAX_OTHER_MISSES = 3;
/** From here on a route listens to the signal, so that what it says is worth telling. */
const LISTENS_DEPTH = 1;

/** @param only a deferred signal's route: it was chosen before, and the other routes have decided. */
export function routeSignal(
  signal: Signal,
  policy: Policy,
  readers: SignalReaders,
  only: string | null = null,
): Routing {
  const name = routeName(signal);
  if (name === null && signal.trigger !== 'event') {
    return none([
      {
        depth: -1,
        rule: 'route',
        reasonCode: 'TASK_CONTRACT_INVALID',
        detail: 'The request names no route.',
      },
    ]);
  }
  const wanted = name ?? only;
  const asked = policy.routes.filter((route) => wanted === null || route.id === wanted);
  if (asked.length === 0) {
    if (wanted === null) return none([noRoute('The configuration has no route.')]);
    return none([{ ...noRoute(`No route is called ${quoted(wanted)}.`), rule: 'route' }]);
  }
  const facts = readers.factsOf(signal);
  const taking: RoutePolicy[] = [];
  const misses: Miss[] = [];
  for (const route of asked) {
    const { evaluate } = readers;
    const miss = missOf({ route, signal, facts, policy, evaluate, isNamed: name !== null });
    if (miss === null) taking.push(route);
    else misses.push(miss);
  }
  return taking.length > 0 ? { kind: 'routes', routes: taking } : none(misses);
}

/**
 * Which routes a delivery may concern whose payload only wakes: by its type, its source and the name of its repository.
 * Nothing else of it counts before its source was read.
 */
export function routesToWake(signal: Signal, policy: Policy): Routing {
  const rules = ROUTE_RULES.filter(({ name }) => WAKING_RULES.has(name));
  const taking: RoutePolicy[] = [];
  const misses: Miss[] = [];
  for (const route of policy.routes) {
    const byName = { ...route, scope: { ...route.scope, topics: [], properties: {} } };
    const question = { route: byName, signal, facts: NO_FACTS_TOLD, policy, evaluate: NEVER, isNamed: false };
    const miss = missAmong(rules, question);
    if (miss === null) taking.push(route);
    else misses.push(miss);
  }
  if (taking.length > 0) return { kind: 'routes', routes: taking };
  return none(misses.length > 0 ? misses : [noRoute('The configuration has no route.')]);
}

const WAKING_RULES: ReadonlySet<string> = new Set(['route.on', 'route.sources', 'route.repositories']);
const NEVER: EvaluateCondition = () => ({ value: false });

const noRoute = (detail: string): Miss => ({ depth: -1, rule: 'route.on', reasonCode: 'NO_ROUTE', detail });

/** The route that a manual call, a tick or an observation names in its data (`route`); null for an event. */
export function routeName(signal: Signal): string | null {
  if (signal.trigger === 'event') return null;
  const { data } = signal;
  if (typeof data !== 'object' || data === null || !('route' in data)) return null;
  return typeof data.route === 'string' ? data.route : null;
}

/** What one rule says of a signal; for people who want to see all of them. */
export interface RuleVerdict {
  readonly rule: string;
  readonly holds: boolean;
  readonly reasonCode: ReasonCode | null;
  readonly detail: string | null;
}

export interface RouteVerdict {
  readonly route: string;
  readonly takes: boolean;
  readonly rules: readonly RuleVerdict[];
}

/** Every rule of every route, also behind the first that rejects. */
export function explainRouting(
  signal: Signal,
  policy: Policy,
  readers: SignalReaders,
): readonly RouteVerdict[] {
  const facts = readers.factsOf(signal);
  const name = routeName(signal);
  return policy.routes.map((route) => {
    const question: RuleQuestion = {
      route,
      signal,
      facts,
      policy,
      evaluate: readers.evaluate,
      isNamed: name !== null,
    };
    const rules = rulesFor(signal).map(({ name: rule, judge }): RuleVerdict => {
      const obstacle = judge(question);
      return {
        rule,
        holds: obstacle === null,
        reasonCode: obstacle?.reasonCode ?? null,
        detail: obstacle?.detail ?? null,
      };
    });
    const isAsked = name === null || name === route.id;
    return { route: route.id, takes: isAsked && rules.every(({ holds }) => holds), rules };
  });
}

const rulesFor = (signal: Signal) =>
  ROUTE_RULES.filter(({ isAboutEvent }) => !isAboutEvent || signal.trigger === 'event');

const missOf = (question: RuleQuestion): Miss | null => missAmong(rulesFor(question.signal), question);

function missAmong(rules: readonly Rule[], question: RuleQuestion): Miss | null {
  for (const [depth, { name, judge }] of rules.entries()) {
    const obstacle = judge(question);
    if (obstacle !== null) return { ...obstacle, depth, rule: name };
  }
  return null;
}

/** The nearest miss decides; of several as near, the first in file order. */
function none(misses: readonly Miss[]): Routing {
  const [nearest, ...others] = [...misses].sort((a, b) => b.depth - a.depth);
  if (nearest === undefined) throw new Error('nothing was missed');
  const told = others
    .filter(({ depth }) => depth >= LISTENS_DEPTH)
    .slice(0, MAX_OTHER_MISSES)
    .map(({ detail }) => detail);
  return {
    kind: 'none',
    verdict: {
      outcome: 'reject',
      reasonCode: nearest.reasonCode,
      detail: [nearest.detail, ...told].join(' '),
      retryAfter: null,
      rule: nearest.rule,
    },
  };
}
