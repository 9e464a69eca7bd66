/**
 * Which route takes a signal (I7): the first in file order whose `on`, sources, repositories and `when` all
 * match. When none does, the receipt names the route that came nearest and what stood in the way; that is what
 * its writer needs to see.
 *
 * A manual call or a tick names its route (`routeName`), and only that one is asked. `when` speaks about the
 * event, so it is asked of event signals only: a person who starts a route by hand brings no event. Who may do
 * so is policy's business, not the condition's.
 *
 * A source belongs to a tenant, and its signals reach that tenant's routes only.
 */
import type { Verdict } from './admission/types.js';
import { matchesRepository } from './glob.js';
import type { Condition, Policy, RoutePolicy, TriggerOn } from './policy.js';
import type { ReasonCode } from './reasons.js';
import { quoted } from './sentences.js';
import type { Signal } from './signal.js';

export type ConditionResult = { readonly value: boolean } | { readonly error: string };
/** Injected: the expression language is the configuration's business. */
export type EvaluateCondition = (condition: Condition, signal: Signal) => ConditionResult;

export type Routing =
  | { readonly kind: 'route'; readonly route: RoutePolicy }
  | { readonly kind: 'none'; readonly verdict: Verdict };

/** How far a route got before it did not match; the furthest one is reported. */
interface Miss {
  readonly depth: number;
  readonly reasonCode: ReasonCode;
  readonly rule: string;
  readonly detail: string;
}

export function routeSignal(signal: Signal, policy: Policy, evaluateCondition: EvaluateCondition): Routing {
  const name = routeName(signal);
  if (name === null && signal.trigger !== 'event') {
    return none(miss(0, 'TASK_CONTRACT_INVALID', 'route', 'The request names no route.'));
  }
  const routes = name === null ? policy.routes : policy.routes.filter((route) => route.id === name);
  let nearest: Miss | null =
    name !== null && routes.length === 0
      ? miss(0, 'NO_ROUTE', 'route', `No route is called ${quoted(name)}.`)
      : null;
  for (const route of routes) {
    const missed = missOf(route, signal, policy, evaluateCondition, name !== null);
    if (missed === null) return { kind: 'route', route };
    if (nearest === null || missed.depth > nearest.depth) nearest = missed;
  }
  return none(nearest ?? miss(0, 'NO_ROUTE', 'route.on', 'The configuration has no route.'));
}

/** The route that a manual call, a tick or an observation names in its data (`route`); null for an event. */
export function routeName(signal: Signal): string | null {
  if (signal.trigger === 'event') return null;
  const { data } = signal;
  if (typeof data !== 'object' || data === null || !('route' in data)) return null;
  return typeof data.route === 'string' ? data.route : null;
}

/**
 * Whether a trigger of a route listens to a signal. An event type matches itself and everything below it:
 * `github.check_run` also takes `github.check_run.completed`.
 */
export function listensTo(on: TriggerOn, signal: Signal): boolean {
  switch (on.kind) {
    case 'event':
      return signal.trigger === 'event' && (signal.type === on.type || signal.type.startsWith(`${on.type}.`));
    case 'manual':
      return signal.trigger === 'manual';
    case 'schedule':
      return signal.trigger === 'schedule';
    case 'goal':
      return signal.trigger === 'goal';
  }
}

function missOf(
  route: RoutePolicy,
  signal: Signal,
  policy: Policy,
  evaluateCondition: EvaluateCondition,
  isNamed: boolean,
): Miss | null {
  const who = `Route ${quoted(route.id)}`;
  if (!route.on.some((on) => listensTo(on, signal))) {
    // A named route is the one that was meant, so its own `on` is the news; else no route wanted the type.
    const detail = isNamed
      ? `${who} does not list ${quoted(signal.type)} under "on".`
      : `The type is ${quoted(signal.type)}.`;
    return miss(1, 'NO_ROUTE', 'route.on', detail);
  }
  const source = policy.sources.find((one) => one.id === signal.source);
  if (source !== undefined && source.tenant !== route.tenant) {
    return miss(1, 'NO_ROUTE', 'route.on', `The type is ${quoted(signal.type)}.`);
  }
  const takesSource =
    signal.trigger !== 'event' || route.sources.length === 0 || route.sources.includes(signal.source);
  if (!takesSource) {
    const detail = `${who} does not take signals of source ${quoted(signal.source)}.`;
    return miss(2, 'OUT_OF_SCOPE', 'route.sources', detail);
  }
  if (route.repositories.length > 0) {
    const fullName = signal.repository?.fullName ?? null;
    if (fullName === null || !route.repositories.some((pattern) => matchesRepository(pattern, fullName))) {
      const what = fullName === null ? 'a signal without a repository' : `repository ${quoted(fullName)}`;
      return miss(3, 'OUT_OF_SCOPE', 'route.repositories', `${who} does not take ${what}.`);
    }
  }
  if (route.when === null || signal.trigger !== 'event') return null;
  const result = evaluateCondition(route.when, signal);
  if ('value' in result && result.value) return null;
  const expression = quoted(route.when.source);
  const detail =
    'error' in result
      ? `${who}: ${expression} could not be evaluated (${result.error}).`
      : `${who}: ${expression} is false.`;
  return miss(4, 'NOT_ELIGIBLE', 'route.when', detail);
}

const none = ({ reasonCode, rule, detail }: Miss): Routing => ({
  kind: 'none',
  verdict: { outcome: 'reject', reasonCode, detail, retryAfter: null, rule },
});

const miss = (depth: number, reasonCode: ReasonCode, rule: string, detail: string): Miss => ({
  depth,
  reasonCode,
  rule,
  detail,
});
