/** A route of the file as the rest of the product reads it: every default applied, every name resolved. */
import {
  type AgentPolicy,
  asksForRepository,
  PROTECTED_PATHS,
  type QueuePolicy,
  type RepositoryScope,
  type RoutePolicy,
  SCANNED_GITHUB_EVENTS,
  type SourceKind,
  type SourcePolicy,
  type TenantPolicy,
  WIDE_SCOPE,
} from '@headgate/domain';
import { compileTemplate } from '../cel/index.js';
import { type Path, suggest } from '../problems/index.js';
import type { HeadgateFile } from '../schema/headgate-file.js';
import type { RouteEntry } from '../schema/routes.js';
import {
  DEBOUNCE_BOUND,
  DEFAULT_DEDUPE_MS,
  DEFAULT_RETRY,
  DEFAULT_RUN_LIMITS,
  DEFAULT_TENANT,
  HEAD_START_SECONDS,
  REAL_FORGE_ATTEMPTS,
  REAL_FORGE_OPEN_PULL_REQUESTS,
  REAL_FORGE_RUN_USD,
} from './defaults.js';
import type { Notebook } from './notebook.js';
import { chooseQueue } from './queues.js';
import { repositoriesOf, reposOf, scopeOf } from './scope.js';
import { resolveTriggers } from './triggers.js';

export interface RouteWorld {
  readonly file: HeadgateFile;
  readonly tenants: readonly TenantPolicy[];
  readonly sources: readonly SourcePolicy[];
  readonly agents: readonly AgentPolicy[];
  readonly queues: readonly QueuePolicy[];
  readonly broken: ReadonlySet<string>;
  /** Text of `prompt: file:…`, by route. */
  readonly prompts: ReadonlyMap<string, string>;
}

export function resolveRoutes(world: RouteWorld, notes: Notebook): readonly RoutePolicy[] {
  return Object.entries(world.file.routes ?? {}).map(([id, route]) => resolveRoute(id, route, world, notes));
}

function resolveRoute(id: string, route: RouteEntry, world: RouteWorld, notes: Notebook): RoutePolicy {
  const path: Path = ['routes', id];
  const tenant = tenantOf(route, path, world, notes);
  const sources = sourcesOf(route, path, tenant, world, notes);
  const asked = repositoriesOf(route);
  const reached = reposOf(asked, sources);
  checkScope(route, path, sources, world, notes);
  const isRealForge = reached.some(({ source }) => source.realForge);
  const mode = route.mode ?? (isRealForge || reached.length === 0 ? 'propose' : 'act');
  if (mode === 'act') {
    for (const { source, repository } of reached) {
      if (!source.realForge || repository.ciTrusted) continue;
      notes.problem(
        [...path, 'mode'],
        `mode act pushes to "${repository.fullName}", whose CI is not declared safe for it`,
        `Write ciTrusted: true at sources.${source.id}.repositories, or mode: propose.`,
      );
    }
  }
  checkWorkKey(route, path, notes);
  const requires = route.requires ?? {};
  const risk = route.risk ?? 'LOW';
  const choice = chooseQueue(world.queues, { requires, risk, tenant: tenant.id });
  if (choice.kind === 'none' && !world.broken.has('queues')) {
    notes.problem(
      path,
      `no queue takes the route: ${choice.reasons.join('; ')}`,
      'Add { id: default } as the last queue.',
    );
  }
  const limits = route.limits ?? {};
  const retry = route.retry ?? {};
  const { budgets } = world.file;
  return {
    id,
    tenant: tenant.id,
    on: resolveTriggers(route.on, tenant.timezone),
    when: route.when === undefined ? null : { source: route.when },
    work:
      route.work === undefined ? null : { key: route.work.key ?? null, version: route.work.version ?? null },
    repositories: asked.repositories,
    sources: route.sources ?? [],
    scope: scopeOf(route, isRealForge),
    mode,
    agent: agentOf(route, path, world, notes),
    prompt: promptOf(id, route, world),
    setup: route.setup ?? [],
    verify: route.verify ?? [],
    onNewVersion: route.onNewVersion ?? 'cancelOther',
    debounce: debounceOf(route),
    dedupeWindowMs: route.dedupe ?? DEFAULT_DEDUPE_MS,
    timeToLiveMs: route.timeToLive ?? null,
    requires,
    risk,
    headStartSeconds:
      typeof route.priority === 'number' ? route.priority : HEAD_START_SECONDS[route.priority ?? 'normal'],
    concurrency:
      route.concurrency === undefined
        ? null
        : { key: route.concurrency.key, limit: route.concurrency.limit ?? 1 },
    limits: {
      wallClockMs: limits.wallClock ?? DEFAULT_RUN_LIMITS.wallClockMs,
      sandboxStartMs: limits.sandboxStart ?? DEFAULT_RUN_LIMITS.sandboxStartMs,
      silenceMs: limits.silence ?? DEFAULT_RUN_LIMITS.silenceMs,
      verifyMs: limits.verify ?? DEFAULT_RUN_LIMITS.verifyMs,
      finalizeMs: limits.finalize ?? DEFAULT_RUN_LIMITS.finalizeMs,
      outputBytes: limits.output ?? DEFAULT_RUN_LIMITS.outputBytes,
      changedFiles: limits.changedFiles ?? DEFAULT_RUN_LIMITS.changedFiles,
      diffLines: limits.diffLines ?? DEFAULT_RUN_LIMITS.diffLines,
      costUsd: limits.costUsd ?? budgets?.perRunUsd ?? (isRealForge ? REAL_FORGE_RUN_USD : null),
    },
    retry: {
      maxAttempts: retry.maxAttempts ?? (isRealForge ? REAL_FORGE_ATTEMPTS : DEFAULT_RETRY.maxAttempts),
      maxInfrastructure: retry.maxInfrastructure ?? DEFAULT_RETRY.maxInfrastructure,
      maxLeaseLost: retry.maxLeaseLost ?? DEFAULT_RETRY.maxLeaseLost,
      backoffMs: retry.backoff ?? DEFAULT_RETRY.backoffMs,
    },
    queue: choice.kind === 'queue' ? choice.id : '',
    paths: route.paths ?? [],
    protectedPaths: [...new Set([...PROTECTED_PATHS, ...(route.protectedPaths ?? [])])],
    maxOpenPullRequests: route.maxOpenPullRequests ?? (isRealForge ? REAL_FORGE_OPEN_PULL_REQUESTS : null),
    repositoryFile: repositoryFileOf(route, isRealForge),
  };
}

function debounceOf({ debounce }: RouteEntry): RoutePolicy['debounce'] {
  if (debounce === undefined) return null;
  return { quietMs: debounce.quiet, maxMs: debounce.max ?? debounce.quiet * DEBOUNCE_BOUND };
}

/** A repository's owners have a say on a real forge; on this machine only where it is asked for. */
function repositoryFileOf(
  { repositoryFile }: RouteEntry,
  isRealForge: boolean,
): RoutePolicy['repositoryFile'] {
  if (typeof repositoryFile === 'object') return { allow: [...new Set(repositoryFile.allow ?? [])] };
  return (repositoryFile ?? isRealForge) ? { allow: [] } : null;
}

/** The route's own tenant, else that of its sources, else the only one. */
function tenantOf(route: RouteEntry, path: Path, world: RouteWorld, notes: Notebook): TenantPolicy {
  const ids = world.tenants.map(({ id }) => id);
  const named = world.sources
    .filter(({ id }) => route.sources?.includes(id) ?? true)
    .map(({ tenant }) => tenant);
  const [ofSources, ...others] = [...new Set(named)];
  const id =
    route.tenant ?? (others.length === 0 ? ofSources : undefined) ?? (ids.length === 1 ? ids[0] : undefined);
  const tenant = world.tenants.find((one) => one.id === id);
  if (tenant !== undefined) return tenant;
  if (id === undefined) {
    notes.problem(
      path,
      'the tenant is not clear: the sources belong to several',
      `Write tenant: ${ids.join(' or tenant: ')}.`,
    );
  } else if (!world.broken.has(`tenants.${id}`) && !world.broken.has('tenants')) {
    notes.problem([...path, 'tenant'], `there is no tenant "${id}"`, suggest(id, ids));
  }
  return {
    id: id ?? DEFAULT_TENANT,
    weight: 1,
    timezone: 'UTC',
    suspended: false,
    maxActive: null,
    maxQueued: null,
    requireApprovalFor: [],
    fourEyes: false,
  };
}

/** The sources whose signals can reach the route: its own list, else all of its tenant. */
function sourcesOf(
  route: RouteEntry,
  path: Path,
  tenant: TenantPolicy,
  world: RouteWorld,
  notes: Notebook,
): readonly SourcePolicy[] {
  if (route.sources === undefined) return world.sources.filter((source) => source.tenant === tenant.id);
  const ids = world.sources.map(({ id }) => id);
  return route.sources.flatMap((id, index) => {
    const source = world.sources.find((one) => one.id === id);
    if (source === undefined) {
      if (!world.broken.has(`sources.${id}`) && !world.broken.has('sources')) {
        notes.problem([...path, 'sources', index], `there is no source "${id}"`, suggest(id, ids));
      }
      return [];
    }
    if (source.tenant !== tenant.id) {
      notes.problem(
        [...path, 'sources', index],
        `source "${id}" belongs to tenant "${source.tenant}", the route to "${tenant.id}"`,
        'A route takes signals of its own tenant only.',
      );
    }
    return [source];
  });
}

const SENDERS: Readonly<Record<string, SourceKind>> = {
  github: 'github',
  git: 'git',
  cloudevents: 'cloudevents',
  webhook: 'standard-webhooks',
};

/** An event that nobody can send would never come, and nobody would complain. */
function checkSender(trigger: string, sources: readonly SourcePolicy[], path: Path, notes: Notebook): void {
  const [family = '', event = ''] = trigger.split('.');
  const kind = SENDERS[family];
  if (kind === undefined) return;
  const senders = sources.filter((source) => source.kind === kind);
  if (senders.length === 0) {
    notes.problem(path, `no ${kind} source can send "${trigger}" to this route`, 'Add one under sources.');
    return;
  }
  const isFound = kind !== 'github' || SCANNED_GITHUB_EVENTS.some((one) => one === event);
  const isOnlyPolled = senders.every(
    ({ webhookSecrets, scan }) => webhookSecrets.length === 0 && scan?.via === 'poll',
  );
  if (isFound || !isOnlyPolled) return;
  notes.warning(
    path,
    `"${trigger}" is brought by a webhook only, and the source is polled`,
    'Point a webhook at /webhooks/SOURCE, with webhookSecrets or the secret of the App.',
  );
}

/** Events need a source of their family, and every repository pattern must reach something. */
function checkScope(
  route: RouteEntry,
  path: Path,
  sources: readonly SourcePolicy[],
  world: RouteWorld,
  notes: Notebook,
): void {
  // With a source taken out for its own problems, what it would have served is not known.
  const isKnown = ![...world.broken].some((entry) => entry.startsWith('sources'));
  if (!isKnown) return;
  for (const [index, trigger] of route.on.entries()) {
    if (typeof trigger !== 'string' || trigger === 'manual') continue;
    checkSender(trigger, sources, [...path, 'on', index], notes);
  }
  const names = sources.flatMap(({ repositories }) => repositories.map(({ fullName }) => fullName));
  const { repositories, scope } = repositoriesOf(route);
  const isList = Array.isArray(route.repositories);
  for (const [index, pattern] of repositories.entries()) {
    if (reposOf({ repositories: [pattern], scope: WIDE_SCOPE }, sources).length > 0) continue;
    notes.problem(
      isList ? [...path, 'repositories', index] : [...path, 'repositories', 'names', index],
      `no source has a repository "${pattern}"`,
      names.length === 0 ? 'Name it under sources.ID.repositories.' : suggest(pattern, names),
    );
  }
  checkDeclared(route, scope, path, sources, notes);
}

/** A tick has no event that tells topics and properties: it goes by what the sources declare. */
function checkDeclared(
  route: RouteEntry,
  scope: RepositoryScope['scope'],
  path: Path,
  sources: readonly SourcePolicy[],
  notes: Notebook,
): void {
  const asks = scope.topics.length > 0 || Object.keys(scope.properties).length > 0;
  const ticks = route.on.some((trigger) => typeof trigger === 'object');
  if (!asks || !ticks || reposOf(repositoriesOf(route), sources).length > 0) return;
  notes.problem(
    [...path, 'repositories'],
    'no source declares a repository with these topics and properties, so the schedule would work on none',
    'Declare them at sources.ID.repositories.NAME: topics, properties.',
  );
}

/** Two repositories must never share a key that a person wrote for both. */
function checkWorkKey(route: RouteEntry, path: Path, notes: Notebook): void {
  const key = route.work?.key;
  if (key === undefined || !asksForRepository(repositoriesOf(route))) return;
  const compiled = compileTemplate(key);
  if (!compiled.ok || compiled.reads.has('repository.id') || compiled.reads.has('event.repository.id'))
    return;
  notes.problem(
    [...path, 'work', 'key'],
    'the work key does not hold the repository’s id, so two repositories would share their work',
    'Begin it with {{ repository.id }}/.',
  );
}

function agentOf(route: RouteEntry, path: Path, world: RouteWorld, notes: Notebook): string {
  const ids = world.agents.map(({ id }) => id);
  if (route.agent === undefined) {
    const [only, ...others] = ids;
    if (only !== undefined && others.length === 0) return only;
    if (![...world.broken].some((entry) => entry.startsWith('agents'))) {
      notes.problem(
        path,
        'the agent is missing',
        ids.length === 0 ? 'Define one under agents.' : `Write agent: ${ids.join(' or agent: ')}.`,
      );
    }
    return '';
  }
  if (
    !ids.includes(route.agent) &&
    !world.broken.has(`agents.${route.agent}`) &&
    !world.broken.has('agents')
  ) {
    notes.problem([...path, 'agent'], `there is no agent "${route.agent}"`, suggest(route.agent, ids));
  }
  return route.agent;
}

function promptOf(id: string, route: RouteEntry, world: RouteWorld): string | null {
  return world.prompts.get(id) ?? route.prompt ?? null;
}
