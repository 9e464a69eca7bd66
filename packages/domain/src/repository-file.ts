/**
 * `.headgate.yaml` of a repository, and how it changes a route for that repository: it may only narrow what the
 * centre allows, and add commands and prompt text where the centre says so. Pure; the property that it never widens
 * is tested.
 */
import type { Mode, RepositoryFileKey, RoutePolicy, RunLimits } from './policy.js';

/** What may be said of all routes, or of one. */
export interface RepositoryRules {
  /** False opts out. */
  readonly enabled: boolean;
  readonly mode: Mode | null;
  readonly limits: Readonly<Partial<Record<keyof RunLimits, number>>>;
  readonly maxAttempts: number | null;
  readonly maxOpenPullRequests: number | null;
  readonly protectedPaths: readonly string[];
  readonly setup: readonly string[];
  readonly verify: readonly string[];
  readonly prompt: string | null;
}

export interface RepositoryFile {
  readonly all: RepositoryRules;
  /** By route id; asked besides `all`. */
  readonly routes: Readonly<Record<string, RepositoryRules>>;
}

export const NO_REPOSITORY_RULES: RepositoryRules = {
  enabled: true,
  mode: null,
  limits: {},
  maxAttempts: null,
  maxOpenPullRequests: null,
  protectedPaths: [],
  setup: [],
  verify: [],
  prompt: null,
};

export type Narrowing =
  | {
      readonly kind: 'route';
      readonly route: RoutePolicy;
      /** Written in the file, and not allowed by the route: left out, and said on the receipt. */
      readonly leftOut: readonly RepositoryFileKey[];
    }
  /** `rule` as it stands on the receipt. */
  | { readonly kind: 'optedOut'; readonly rule: string };

export function narrowRoute(route: RoutePolicy, file: RepositoryFile): Narrowing {
  const own = Object.hasOwn(file.routes, route.id) ? file.routes[route.id] : undefined;
  if (!file.all.enabled) return { kind: 'optedOut', rule: 'headgate.yaml.enabled' };
  if (own !== undefined && !own.enabled) {
    return { kind: 'optedOut', rule: `headgate.yaml.routes.${route.id}.enabled` };
  }
  const rules = own === undefined ? [file.all] : [file.all, own];
  const narrowed = rules.reduce(narrowOnce, route);
  const leftOut = (['setup', 'verify', 'prompt'] as const).filter(
    (key) => rules.some((one) => isWritten(one, key)) && route.repositoryFile?.allow.includes(key) !== true,
  );
  return { kind: 'route', route: narrowed, leftOut };
}

function narrowOnce(route: RoutePolicy, rules: RepositoryRules): RoutePolicy {
  const allows = (key: RepositoryFileKey): boolean => route.repositoryFile?.allow.includes(key) === true;
  return {
    ...route,
    mode: narrowerMode(route.mode, rules.mode),
    limits: lowerLimits(route.limits, rules.limits),
    retry: { ...route.retry, maxAttempts: lower(route.retry.maxAttempts, rules.maxAttempts) },
    maxOpenPullRequests: lowerOrNull(route.maxOpenPullRequests, rules.maxOpenPullRequests),
    protectedPaths: [...new Set([...route.protectedPaths, ...rules.protectedPaths])],
    setup: allows('setup') ? [...route.setup, ...rules.setup] : route.setup,
    verify: allows('verify') ? [...route.verify, ...rules.verify] : route.verify,
    prompt: allows('prompt') ? joined(route.prompt, rules.prompt) : route.prompt,
  };
}

const isWritten = (rules: RepositoryRules, key: RepositoryFileKey): boolean =>
  rules[key] !== null && rules[key].length > 0;

const MODES: readonly Mode[] = ['observe', 'propose', 'act'];

function narrowerMode(central: Mode, own: Mode | null): Mode {
  if (own === null) return central;
  return MODES.indexOf(own) < MODES.indexOf(central) ? own : central;
}

function lowerLimits(central: RunLimits, own: RepositoryRules['limits']): RunLimits {
  const lowered = { ...central };
  for (const name of Object.keys(central) as (keyof RunLimits)[]) {
    const wanted = own[name];
    const now = central[name];
    if (wanted !== undefined && (now === null || wanted < now)) lowered[name] = wanted;
  }
  return lowered;
}

const lower = (central: number, own: number | null): number =>
  own === null ? central : Math.min(central, own);

const lowerOrNull = (central: number | null, own: number | null): number | null =>
  central === null ? own : lower(central, own);

const joined = (central: string | null, own: string | null): string | null =>
  own === null ? central : central === null ? own : `${central}\n\n${own}`;
