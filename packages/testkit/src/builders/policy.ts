/** A policy as `packages/config` would make it from a small headgate.yaml. State what matters, take the rest. */
import { createHash } from 'node:crypto';
import {
  type AgentPolicy,
  type Policy,
  type QueuePolicy,
  type RoutePolicy,
  type RunLimits,
  type SourcePolicy,
  type TenantPolicy,
  WIDE_SCOPE,
} from '@headgate/domain';

export const aTenantPolicy = (change: Partial<TenantPolicy> = {}): TenantPolicy => ({
  id: 'default',
  weight: 1,
  timezone: 'UTC',
  suspended: false,
  maxActive: null,
  maxQueued: null,
  requireApprovalFor: [],
  fourEyes: false,
  ...change,
});

export const anAgent = (change: Partial<AgentPolicy> = {}): AgentPolicy => ({
  id: 'example',
  runtime: 'command',
  command: ['node', 'agent.mjs'],
  env: {},
  trustedExample: true,
  ...change,
});

export const someLimits = (change: Partial<RunLimits> = {}): RunLimits => ({
  wallClockMs: 1_800_000,
  sandboxStartMs: 60_000,
  silenceMs: 300_000,
  verifyMs: 600_000,
  finalizeMs: 120_000,
  outputBytes: 10_000_000,
  changedFiles: 50,
  diffLines: 2_000,
  costUsd: 3,
  ...change,
});

/** `fix-failing-check` on failing checks, and by hand. */
export const aRoute = (change: Partial<RoutePolicy> = {}): RoutePolicy => ({
  id: 'fix-failing-check',
  tenant: 'default',
  on: [{ kind: 'event', type: 'github.check_run.completed' }, { kind: 'manual' }],
  when: null,
  work: null,
  repositories: [],
  sources: [],
  scope: WIDE_SCOPE,
  mode: 'act',
  agent: 'example',
  prompt: null,
  setup: [],
  verify: ['npm test'],
  onNewVersion: 'cancelOther',
  debounce: null,
  dedupeWindowMs: 7 * 86_400_000,
  timeToLiveMs: null,
  requires: {},
  risk: 'LOW',
  headStartSeconds: 0,
  concurrency: null,
  limits: someLimits(),
  retry: { maxAttempts: 3, maxInfrastructure: 5, maxLeaseLost: 3, backoffMs: [1_000, 4_000] },
  queue: 'default',
  paths: [],
  protectedPaths: ['.github/**'],
  maxOpenPullRequests: null,
  repositoryFile: null,
  ...change,
});

export const aSource = (change: Partial<SourcePolicy> = {}): SourcePolicy => ({
  id: 'acme',
  kind: 'github',
  webhookSecrets: ['file:.headgate/webhook-secret'],
  app: null,
  token: null,
  baseUrl: null,
  authority: 'payload',
  replayWindowMs: null,
  toleranceMs: 300_000,
  from: [],
  scan: null,
  redeliveries: 0,
  repositories: [{ fullName: 'acme/api', url: '/srv/git/api.git', defaultBranch: 'main', ciTrusted: true }],
  tenant: 'default',
  realForge: false,
  ...change,
});

export const aQueue = (change: Partial<QueuePolicy> = {}): QueuePolicy => ({
  id: 'default',
  profile: {},
  risk: ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'],
  tenants: [],
  ...change,
});

/** One tenant, one source, one agent, one route, one queue. The digest follows the content. */
export function aPolicy(change: Partial<Omit<Policy, 'digest'>> = {}): Policy {
  const content: Omit<Policy, 'digest'> = {
    tenants: [aTenantPolicy()],
    sources: [aSource()],
    agents: [anAgent()],
    routes: [aRoute()],
    queues: [aQueue()],
    limits: {
      maxActive: null,
      maxActivePerRepository: null,
      maxActivePerUser: null,
      maxActiveByRisk: {},
      maxActiveByProvider: {},
    },
    budgets: { perRunUsd: 3, perDayUsd: 25 },
    lease: { ttlMs: 60_000, heartbeatMs: 15_000, renewDeadlineMs: 40_000, stopMarginMs: 20_000 },
    retentionDays: { receipts: 90, payloads: 30, events: 90, history: 90 },
    ...change,
  };
  return { digest: createHash('sha256').update(JSON.stringify(content)).digest('hex'), ...content };
}
