/**
 * What the configuration means once it is read: plain data, stored as a policy version, handed to every
 * decision. `packages/config` makes it; nothing else does.
 */

import type { LoopGuardPolicy } from './loop-guard.js';
import type { AgentNetwork } from './network.js';

export type OnNewVersion = 'reject' | 'useExisting' | 'queueOne' | 'cancelOther' | 'allow';
export type Mode = 'observe' | 'propose' | 'act';
export type Risk = 'LOW' | 'MEDIUM' | 'HIGH' | 'CRITICAL';
export type OverlapPolicy =
  | 'skip'
  | 'bufferOne'
  | 'bufferAll'
  | 'cancelOther'
  | 'terminateOther'
  | 'allowAll';

/** A capability a run requires of its worker, or a worker offers: `{ node: '>=20', network: true }`. */
export type Capabilities = Readonly<Record<string, string | number | boolean | readonly string[]>>;

export interface RunLimits {
  readonly wallClockMs: number;
  readonly sandboxStartMs: number;
  /** Longest silence on stdout and stderr. */
  readonly silenceMs: number;
  readonly verifyMs: number;
  readonly finalizeMs: number;
  readonly outputBytes: number;
  readonly changedFiles: number;
  readonly diffLines: number;
  readonly costUsd: number | null;
}

export interface RetryPolicy {
  /** Application failures, in all. */
  readonly maxAttempts: number;
  readonly maxInfrastructure: number;
  readonly maxLeaseLost: number;
  /** Base of the exponential back-off per attempt, in ms; the last one repeats. */
  readonly backoffMs: readonly number[];
}

export interface AgentPolicy {
  readonly id: string;
  readonly runtime: 'command';
  readonly command: readonly string[];
  /** Names only of the environment variables handed in; values are plain configuration, never secrets. */
  readonly env: Readonly<Record<string, string>>;
  /** True only for the example agent that ships with Headgate: it alone may run without isolation. */
  readonly trustedExample: boolean;
  /** Left out: none. Run specifications and policies of before there was any are read so too. */
  readonly network?: AgentNetwork;
}

export type TriggerOn =
  | { readonly kind: 'event'; readonly type: string }
  | { readonly kind: 'manual' }
  | {
      readonly kind: 'schedule';
      /** Position in the route's `on` list; with the route it names the schedule. */
      readonly ordinal: number;
      /** Five-field cron, an @-name, or `@every 20s`. */
      readonly cron: string;
      readonly timezone: string;
      /** RFC 3339, both included; null = no bound. */
      readonly startAt: string | null;
      readonly endAt: string | null;
      /** Days of the zone that are left out: `2026-12-24`, `12-24/01-02`. */
      readonly exclude: readonly string[];
      readonly jitterMs: number;
      /** A run of it that failed for good pauses it. */
      readonly pauseOnFailure: boolean;
      readonly overlap: OverlapPolicy;
      readonly catchUp: {
        readonly mode: 'none' | 'latest' | 'all';
        readonly windowMs: number;
        readonly max: number;
      };
    }
  | {
      readonly kind: 'goal';
      /** Position in the route's `on` list; with the route and a repository it names the goal. */
      readonly ordinal: number;
      readonly observe: ObserveSpec;
      /** CEL over `observation` and `repository`. */
      readonly until: Condition;
      /** Five-field cron, an @-name, or `@every 10m`. */
      readonly cadence: string;
      readonly timezone: string;
      /** Whichever is reached first ends the goal as given up. */
      readonly stop: {
        /** Runs of the agent. */
        readonly maxRuns: number;
        readonly deadlineMs: number;
        /** Runs of the agent in a row after which the observation was what it had been. */
        readonly noProgress: number;
        readonly maxCostUsd: number | null;
      };
    };

/** A look at the world without a model. Done on a worker: a command in the sandbox, or one request. */
export type ObserveSpec =
  | {
      readonly kind: 'command';
      /** A line of shell, in the repository's files. */
      readonly command: string;
      readonly timeoutMs: number;
    }
  | {
      readonly kind: 'http';
      readonly url: string;
      /** Values may be references to secrets (`${ENV}`, `file:`), never secrets. */
      readonly headers: Readonly<Record<string, string>>;
      /** Address ranges that may be reached although they are not public. */
      readonly allow: readonly string[];
      readonly timeoutMs: number;
    };

/** A CEL expression over `event`, `repository`, `target`: `event.check_run.conclusion == "failure"`. */
export interface Condition {
  readonly source: string;
}

/** Templates (`{{ CEL }}`) written in the route instead of the identity inferred by event kind. */
export interface WorkTemplates {
  readonly key: string | null;
  readonly version: string | null;
}

/** What a route takes of the events it listens to. Empty lists and maps ask nothing. */
export interface RouteScope {
  /** Patterns of repositories that are left out of `RoutePolicy.repositories`. */
  readonly exceptRepositories: readonly string[];
  /** The repository has one of them. */
  readonly topics: readonly string[];
  /** The repository has all of them, each with this value. */
  readonly properties: Readonly<Record<string, string>>;
  /** Patterns of the branch that the event is about; of a pull request the one it goes into. */
  readonly branches: readonly string[];
  readonly labels: { readonly any: readonly string[]; readonly none: readonly string[] };
  /** Patterns of the login of whose comment, issue or pull request it is; of a push, who pushed. */
  readonly authors: readonly string[];
  /** GitHub's words: OWNER, MEMBER, COLLABORATOR … */
  readonly associations: readonly string[];
  readonly forks: boolean;
  readonly drafts: boolean;
  readonly bots: boolean;
}

/** Several signals of one piece of work become one: trailing, and never later than `maxMs` after the first. */
export interface Debounce {
  readonly quietMs: number;
  readonly maxMs: number;
}

/** A key of `.headgate.yaml` that adds something, and so must be allowed. */
export type RepositoryFileKey = 'setup' | 'verify' | 'prompt';

export interface RoutePolicy {
  readonly id: string;
  readonly tenant: string;
  readonly on: readonly TriggerOn[];
  /** Filters events; a schedule tick and a person have no event to filter. */
  readonly when: Condition | null;
  /** Null = inferred by event kind. */
  readonly work: WorkTemplates | null;
  /** `owner/name` or globs; empty = every repository of the route's sources. */
  readonly repositories: readonly string[];
  /** Source ids; empty = all. */
  readonly sources: readonly string[];
  readonly scope: RouteScope;
  readonly mode: Mode;
  readonly agent: string;
  readonly prompt: string | null;
  readonly setup: readonly string[];
  readonly verify: readonly string[];
  readonly onNewVersion: OnNewVersion;
  /** Null: each signal is decided at once. */
  readonly debounce: Debounce | null;
  /** How long a delivery id is remembered. */
  readonly dedupeWindowMs: number;
  readonly timeToLiveMs: number | null;
  readonly requires: Capabilities;
  readonly risk: Risk;
  /** Seconds of head start; urgent 14 400, high 3 600, normal 0, low -3 600. */
  readonly headStartSeconds: number;
  /** A template over the signal's identity, limit 1 = exclusive. Null = one run per target. */
  readonly concurrency: { readonly key: string; readonly limit: number } | null;
  readonly limits: RunLimits;
  readonly retry: RetryPolicy;
  readonly queue: string;
  /** Glob patterns the result may touch; empty = all but the protected ones. */
  readonly paths: readonly string[];
  readonly protectedPaths: readonly string[];
  /** Of ours, per repository; null = no limit. */
  readonly maxOpenPullRequests: number | null;
  /** Whether `.headgate.yaml` of the repository is read, and what it may add. Null: it is not read. */
  readonly repositoryFile: { readonly allow: readonly RepositoryFileKey[] } | null;
}

export interface TenantPolicy {
  readonly id: string;
  readonly weight: number;
  readonly timezone: string;
  readonly suspended: boolean;
  readonly maxActive: number | null;
  readonly maxQueued: number | null;
  /** Risk classes whose work waits for a person before its agent starts (Q28). */
  readonly requireApprovalFor: readonly Risk[];
  /** Whoever asked for the work may not be the one who publishes it. */
  readonly fourEyes: boolean;
}

export interface RepositoryPolicy {
  readonly fullName: string;
  /** Where git reads and pushes: a path or a URL. */
  readonly url: string;
  readonly defaultBranch: string | null;
  readonly ciTrusted: boolean;
  /** As declared; an event that tells them is believed instead. */
  readonly topics?: readonly string[];
  readonly properties?: Readonly<Record<string, string>>;
}

export const SOURCE_KINDS = ['github', 'git', 'cloudevents', 'standard-webhooks'] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** Looking at the source itself, beside or instead of being told. */
export interface ScanPolicy {
  /** `poll`: the way in, where nothing can be sent to us. `scan`: finds what the hook did not bring. */
  readonly via: 'poll' | 'scan';
  readonly everyMs: number;
}

export interface SourcePolicy {
  readonly id: string;
  readonly kind: SourceKind;
  /** References (`${ENV}`, `file:`), never values. */
  readonly webhookSecrets: readonly string[];
  /** Reference to a GitHub App's file; null: `token`, or nothing. */
  readonly app: string | null;
  /** Reference to a token that reads. */
  readonly token: string | null;
  /** Base of the API: GitHub Enterprise. Null: the App's own, else github.com. */
  readonly baseUrl: string | null;
  readonly authority: 'payload' | 'source';
  /** What happened longer ago than this when it arrives is answered with STALE_EVENT; null: no limit. */
  readonly replayWindowMs: number | null;
  /** How far a signed time may be from ours (standard-webhooks). */
  readonly toleranceMs: number;
  /** Values of a CloudEvent's `source` that belong here, a last `*` standing for any end; empty: all. */
  readonly from: readonly string[];
  readonly scan: ScanPolicy | null;
  /** Tries per delivery that failed at the forge; 0: none. */
  readonly redeliveries: number;
  readonly repositories: readonly RepositoryPolicy[];
  readonly tenant: string;
  /** True when git reaches it over a network; false for a bare repository on this machine. */
  readonly realForge: boolean;
  /** Who we are there: what these do is our own doing. Absent: not told. */
  readonly self?: SelfIdentity;
}

/** An App of ours, or a machine user. */
export interface SelfIdentity {
  /** The App's numeric id, as text. */
  readonly appId: string | null;
  /** Names of its accounts, e.g. `headgate-acme[bot]`. */
  readonly logins: readonly string[];
}

export interface GlobalLimits {
  readonly maxActive: number | null;
  readonly maxActivePerRepository: number | null;
  readonly maxActivePerUser: number | null;
  readonly maxActiveByRisk: Readonly<Partial<Record<Risk, number>>>;
  readonly maxActiveByProvider: Readonly<Record<string, number>>;
}

export interface LeaseTiming {
  readonly ttlMs: number;
  readonly heartbeatMs: number;
  readonly renewDeadlineMs: number;
  readonly stopMarginMs: number;
}

export interface QueuePolicy {
  readonly id: string;
  /** What a worker must offer to join. A route fits when this includes all it requires. */
  readonly profile: Capabilities;
  readonly risk: readonly Risk[];
  /** Tenant ids; empty = all. */
  readonly tenants: readonly string[];
}

/** Spending in USD; null = no limit of that kind. */
export interface BudgetPolicy {
  readonly perRunUsd: number | null;
  readonly perDayUsd: number | null;
}

/** How long what has been is kept. What it adds up to, and which versions were admitted, is kept for good. */
export interface RetentionDays {
  readonly receipts: number;
  readonly payloads: number;
  readonly events: number;
  /** Ticks and requests of schedules, observations of goals; the newest of each are kept whatever their age. */
  readonly history: number;
}

export const DEFAULT_RETENTION_DAYS: RetentionDays = { receipts: 90, payloads: 14, events: 90, history: 90 };

export interface Policy {
  /** Digest of the normalised content: the same file gives the same version. */
  readonly digest: string;
  readonly tenants: readonly TenantPolicy[];
  readonly sources: readonly SourcePolicy[];
  readonly agents: readonly AgentPolicy[];
  readonly routes: readonly RoutePolicy[];
  readonly queues: readonly QueuePolicy[];
  readonly limits: GlobalLimits;
  readonly budgets: BudgetPolicy;
  /** Absent in policies that were stored before there was one: DEFAULT_LOOP_GUARD. */
  readonly loopGuard?: LoopGuardPolicy;
  readonly lease: LeaseTiming;
  readonly retentionDays: RetentionDays;
}
