/**
 * The rules by which a route takes a signal (I7), in the order in which they are asked. Each rejects with its own
 * name, which stands on the receipt. `headgate check-config --explain` shows the verdict of every one.
 *
 * Rules about the event itself (from `route.when` on) are not asked of ticks and people: they bring no event. Who may
 * ask is policy's business, not theirs.
 */
import { matchesGlob, matchesLogin } from '../glob.js';
import type { Condition, Policy, RoutePolicy, SourcePolicy, TriggerOn } from '../policy.js';
import type { ReasonCode } from '../reasons.js';
import { quoted } from '../sentences.js';
import type { Signal } from '../signal.js';
import type { EventFacts } from './eligibility.js';
import { asksForRepository, declaredTraits, type RepositoryTraits, repositoryObstacle } from './scope.js';

export type ConditionResult = { readonly value: boolean } | { readonly error: string };
/** Injected: the expression language is the configuration's business. */
export type EvaluateCondition = (condition: Condition, signal: Signal) => ConditionResult;

/** How payloads are read: the sources' and the configuration's business. */
export interface SignalReaders {
  readonly evaluate: EvaluateCondition;
  readonly factsOf: (signal: Signal) => EventFacts;
}

/** A signal before the rules of one route. */
export interface RuleQuestion {
  readonly route: RoutePolicy;
  readonly signal: Signal;
  readonly facts: EventFacts;
  readonly policy: Policy;
  readonly evaluate: EvaluateCondition;
  /** The signal names this route; else it is an event and any route may take it. */
  readonly isNamed: boolean;
}

/** Why a rule rejects. */
export interface Obstacle {
  readonly reasonCode: ReasonCode;
  /** A whole sentence. */
  readonly detail: string;
}

export interface Rule {
  /** As it stands on receipts. */
  readonly name: string;
  /** Asked only of events. */
  readonly isAboutEvent: boolean;
  readonly judge: (question: RuleQuestion) => Obstacle | null;
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

const who = ({ route }: RuleQuestion): string => `Route ${quoted(route.id)}`;
const sourceOf = ({ policy, signal }: RuleQuestion): SourcePolicy | undefined =>
  policy.sources.find((one) => one.id === signal.source);

const on = (question: RuleQuestion): Obstacle | null => {
  const { route, signal, isNamed } = question;
  const source = sourceOf(question);
  const isForeign = source !== undefined && source.tenant !== route.tenant;
  if (!isForeign && route.on.some((trigger) => listensTo(trigger, signal))) return null;
  // A named route is the one that was meant, so its own `on` is the news; else no route wanted the type.
  const detail =
    isNamed && !isForeign
      ? `${who(question)} does not list ${quoted(signal.type)} under "on".`
      : `The type is ${quoted(signal.type)}.`;
  return { reasonCode: 'NO_ROUTE', detail };
};

const sources = (question: RuleQuestion): Obstacle | null => {
  const { route, signal } = question;
  if (route.sources.length === 0 || route.sources.includes(signal.source)) return null;
  return outOfScope(`${who(question)} does not take signals of source ${quoted(signal.source)}.`);
};

const repositories = (question: RuleQuestion): Obstacle | null => {
  const { route, signal } = question;
  if (!asksForRepository(route)) return null;
  if (signal.repository === null) {
    return outOfScope(`${who(question)} does not take a signal without a repository.`);
  }
  const obstacle = repositoryObstacle(route, traitsOf(question, signal.repository.fullName));
  return obstacle === null ? null : outOfScope(`${who(question)} does not take ${obstacle}.`);
};

/** What the event tells of its repository, else what the configuration declares. */
function traitsOf({ facts, policy, signal, route }: RuleQuestion, fullName: string): RepositoryTraits {
  const wanted = fullName.toLowerCase();
  const known = policy.sources
    .filter((source) => source.tenant === route.tenant)
    .sort((a, b) => Number(b.id === signal.source) - Number(a.id === signal.source))
    .flatMap((source) => source.repositories)
    .find((repository) => repository.fullName.toLowerCase() === wanted);
  const declared = declaredTraits(known ?? { fullName });
  return {
    fullName,
    topics: facts.topics ?? declared.topics,
    properties: facts.properties ?? declared.properties,
  };
}

const when = (question: RuleQuestion): Obstacle | null => {
  const { route, signal, evaluate } = question;
  if (route.when === null) return null;
  const result = evaluate(route.when, signal);
  if ('value' in result && result.value) return null;
  const expression = quoted(route.when.source);
  return notEligible(
    'error' in result
      ? `${who(question)}: ${expression} could not be evaluated (${result.error}).`
      : `${who(question)}: ${expression} is false.`,
  );
};

const branches = (question: RuleQuestion): Obstacle | null => {
  const { scope } = question.route;
  const { branch } = question.facts;
  if (scope.branches.length === 0) return null;
  if (branch === null) return outOfScope(`${who(question)} takes branches, and the event names none.`);
  if (scope.branches.some((pattern) => matchesGlob(pattern, branch))) return null;
  return outOfScope(`${who(question)} does not take branch ${quoted(branch)}.`);
};

const paths = (question: RuleQuestion): Obstacle | null => {
  const { route, facts } = question;
  const changed = facts.paths;
  // An event whose files are not known, or not all of them, is not filtered by them; the result is, in the end.
  if (route.paths.length === 0 || changed === null) return null;
  const isTouched = changed.some((path) => route.paths.some((pattern) => matchesGlob(pattern, path)));
  return isTouched ? null : outOfScope(`${who(question)}: no file under ${route.paths.join(', ')} changed.`);
};

const labels = (question: RuleQuestion): Obstacle | null => {
  const { any, none } = question.route.scope.labels;
  const found = question.facts.labels;
  if (any.length > 0) {
    if (found === null) return notEligible(`${who(question)} asks for a label, and the event tells none.`);
    if (!any.some((label) => hasLabel(found, label))) {
      return notEligible(`${who(question)} asks for one of the labels ${any.join(', ')}.`);
    }
  }
  const unwanted = none.find((label) => hasLabel(found ?? [], label));
  return unwanted === undefined
    ? null
    : notEligible(`${who(question)} does not take what is labelled ${quoted(unwanted)}.`);
};

/** GitHub keeps a label's case and compares without it. */
const hasLabel = (found: readonly string[], wanted: string): boolean =>
  found.some((label) => label.toLowerCase() === wanted.toLowerCase());

const authors = (question: RuleQuestion): Obstacle | null => {
  const { scope } = question.route;
  const { author } = question.facts;
  if (scope.authors.length === 0) return null;
  if (author === null)
    return notEligible(`${who(question)} takes certain authors, and the event names none.`);
  if (scope.authors.some((pattern) => matchesLogin(pattern, author.login))) return null;
  return notEligible(`${who(question)} does not take what ${quoted(author.login)} wrote.`);
};

const associations = (question: RuleQuestion): Obstacle | null => {
  const { scope } = question.route;
  const { association } = question.facts;
  if (scope.associations.length === 0) return null;
  if (association !== null && scope.associations.includes(association)) return null;
  const is = association === null ? 'not told' : association;
  return notEligible(`${who(question)} asks for ${scope.associations.join(', ')}; the association is ${is}.`);
};

const forks = (question: RuleQuestion): Obstacle | null =>
  question.facts.isFork === true && !question.route.scope.forks
    ? notEligible(`${who(question)} takes no pull requests from forks.`)
    : null;

const drafts = (question: RuleQuestion): Obstacle | null =>
  question.facts.isDraft === true && !question.route.scope.drafts
    ? notEligible(`${who(question)} takes no drafts.`)
    : null;

const bots = (question: RuleQuestion): Obstacle | null => {
  const { author } = question.facts;
  if (author === null || !author.isBot || question.route.scope.bots) return null;
  return notEligible(`${who(question)} takes nothing of bots, and ${quoted(author.login)} is one.`);
};

const outOfScope = (detail: string): Obstacle => ({ reasonCode: 'OUT_OF_SCOPE', detail });
const notEligible = (detail: string): Obstacle => ({ reasonCode: 'NOT_ELIGIBLE', detail });

/** From the widest to the narrowest: the further a signal came, the nearer it was. */
export const ROUTE_RULES: readonly Rule[] = [
  { name: 'route.on', isAboutEvent: false, judge: on },
  { name: 'route.sources', isAboutEvent: true, judge: sources },
  { name: 'route.repositories', isAboutEvent: false, judge: repositories },
  { name: 'route.when', isAboutEvent: true, judge: when },
  { name: 'route.branches', isAboutEvent: true, judge: branches },
  { name: 'route.paths', isAboutEvent: true, judge: paths },
  { name: 'route.labels', isAboutEvent: true, judge: labels },
  { name: 'route.authors', isAboutEvent: true, judge: authors },
  { name: 'route.associations', isAboutEvent: true, judge: associations },
  { name: 'route.forks', isAboutEvent: true, judge: forks },
  { name: 'route.drafts', isAboutEvent: true, judge: drafts },
  { name: 'route.bots', isAboutEvent: true, judge: bots },
];
