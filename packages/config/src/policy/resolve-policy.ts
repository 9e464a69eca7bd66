/** The second reading: names become references, defaults are filled in, what contradicts itself is noted. */
import {
  type AgentPolicy,
  DEFAULT_LOOP_GUARD,
  DEFAULT_RETENTION_DAYS,
  type GlobalLimits,
  type LoopGuardPolicy,
  type Policy,
  type RateLimit,
  type SourcePolicy,
  type TenantPolicy,
} from '@headgate/domain';
import { EXAMPLE_AGENT_COMMAND } from '../schema/agents.js';
import type { HeadgateFile } from '../schema/headgate-file.js';
import { DEFAULT_LEASE } from '../schema/lease.js';
import { DAY_MS, DEFAULT_TENANT, REAL_FORGE_RUNS_PER_ACTOR, REAL_FORGE_RUNS_PER_TARGET } from './defaults.js';
import { digestOf } from './digest.js';
import type { Notebook } from './notebook.js';
import { resolveQueues } from './queues.js';
import { resolveRoutes } from './routes.js';
import { resolveSources, type SourceOptions } from './sources.js';

export interface ResolveInput {
  readonly file: HeadgateFile;
  readonly broken: ReadonlySet<string>;
  /** Text of `prompt: file:…`, by route. */
  readonly prompts: ReadonlyMap<string, string>;
  readonly options: SourceOptions;
}

export function resolvePolicy({ file, broken, prompts, options }: ResolveInput, notes: Notebook): Policy {
  const tenants = resolveTenants(file);
  const brokenTenants = [...broken].flatMap((entry) => /^tenants\.(.+)$/.exec(entry)?.[1] ?? []);
  const tenantIds = [...tenants.map(({ id }) => id), ...brokenTenants].sort();
  const sources = resolveSources(file, tenantIds, options, notes);
  const agents = resolveAgents(file);
  const queues = resolveQueues(file, tenants, broken, notes);
  const routes = resolveRoutes({ file, tenants, sources, agents, queues, broken, prompts }, notes);
  checkBudgets(file, sources, broken, notes);
  if (routes.length === 0 && ![...broken].some((entry) => entry.startsWith('routes'))) {
    notes.warning(['routes'], 'there are no routes', 'Every signal will be answered with NO_ROUTE.');
  }
  const content: Omit<Policy, 'digest'> = {
    tenants,
    sources,
    agents,
    routes,
    queues,
    limits: resolveLimits(file),
    budgets: { perRunUsd: file.budgets?.perRunUsd ?? null, perDayUsd: file.budgets?.perDayUsd ?? null },
    loopGuard: resolveLoopGuard(file, sources),
    lease: file.lease ?? DEFAULT_LEASE,
    retentionDays: {
      receipts: days(file.retention?.receipts) ?? DEFAULT_RETENTION_DAYS.receipts,
      payloads: days(file.retention?.payloads) ?? DEFAULT_RETENTION_DAYS.payloads,
      events: days(file.retention?.events) ?? DEFAULT_RETENTION_DAYS.events,
      history: days(file.retention?.history) ?? DEFAULT_RETENTION_DAYS.history,
    },
  };
  return { digest: digestOf(content), ...content };
}

const days = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / DAY_MS);

function resolveTenants(file: HeadgateFile): readonly TenantPolicy[] {
  const written = Object.entries(file.tenants ?? {});
  const entries = written.length === 0 ? ([[DEFAULT_TENANT, {}]] as typeof written) : written;
  return entries.map(([id, tenant]) => ({
    id,
    weight: tenant.weight ?? 1,
    timezone: tenant.timezone ?? 'UTC',
    suspended: tenant.suspended ?? false,
    maxActive: tenant.limits?.maxActive ?? null,
    maxQueued: tenant.limits?.maxQueued ?? null,
    requireApprovalFor: tenant.requireApprovalFor ?? [],
    fourEyes: tenant.fourEyes ?? false,
  }));
}

function resolveAgents(file: HeadgateFile): readonly AgentPolicy[] {
  return Object.entries(file.agents ?? {}).map(([id, agent]) => ({
    id,
    runtime: agent.runtime,
    command: agent.command,
    env: agent.env ?? {},
    trustedExample: agent.command[0] === EXAMPLE_AGENT_COMMAND,
    ...(agent.network === undefined
      ? {}
      : { network: { setup: agent.network.setup ?? [], agent: agent.network.agent ?? [] } }),
  }));
}

function resolveLimits({ limits }: HeadgateFile): GlobalLimits {
  return {
    maxActive: limits?.maxActive ?? null,
    maxActivePerRepository: limits?.maxActivePerRepository ?? null,
    maxActivePerUser: limits?.maxActivePerUser ?? null,
    maxActiveByRisk: limits?.maxActiveByRisk ?? {},
    maxActiveByProvider: limits?.maxActiveByProvider ?? {},
  };
}

/** Rates hold by default on a real forge only: an example may run as often as it likes. */
function resolveLoopGuard({ loopGuard }: HeadgateFile, sources: readonly SourcePolicy[]): LoopGuardPolicy {
  const isReal = sources.some(({ realForge }) => realForge);
  const rateOf = (
    written: false | { readonly runs: number; readonly within: number } | undefined,
    usual: RateLimit,
  ): RateLimit | null => {
    if (written === undefined) return isReal ? usual : null;
    return written === false ? null : { limit: written.runs, windowMs: written.within };
  };
  return {
    maxHops: loopGuard?.maxHops ?? DEFAULT_LOOP_GUARD.maxHops,
    maxRunsSinceHuman: loopGuard?.maxRunsSinceHuman ?? DEFAULT_LOOP_GUARD.maxRunsSinceHuman,
    perTarget: rateOf(loopGuard?.perTarget, REAL_FORGE_RUNS_PER_TARGET),
    perActor: rateOf(loopGuard?.perActor, REAL_FORGE_RUNS_PER_ACTOR),
  };
}

/** 3 USD a run is a default; a day has none, because nobody but the owner can know it. */
function checkBudgets(
  file: HeadgateFile,
  sources: readonly SourcePolicy[],
  broken: ReadonlySet<string>,
  notes: Notebook,
): void {
  if (
    file.budgets !== undefined &&
    Object.values(file.agents ?? {}).some(({ runtime }) => runtime === 'command')
  ) {
    notes.warning(
      ['budgets'],
      'agents of runtime command report no cost, so a budget cannot stop them',
      'Limit them by limits.wallClock and retry.maxAttempts too.',
    );
  }
  if (file.budgets?.perDayUsd !== undefined || broken.has('budgets')) return;
  const real = sources.find(({ kind, realForge }) => kind === 'github' && realForge);
  if (real === undefined) return;
  notes.problem(
    ['sources', real.id],
    `source "${real.id}" is a real forge and no day has a limit`,
    'Write budgets: { perDayUsd: 25 } at the top.',
  );
}
