/** Small builders: a test states what matters to it and takes the rest. */
import {
  type AdmissionState,
  type Candidate,
  type DeferredId,
  type LiveRun,
  type ReceiptId,
  type RoutePolicy,
  type RunId,
  type Signal,
  type TaskId,
  type TaskState,
  type TenantPolicy,
  WIDE_SCOPE,
} from '../src/index.js';

export const NOW = new Date('2026-03-01T12:00:00Z');
export const KEY = '42/pr/7/check/unit';

export const runIdOf = (name: string): RunId => `run-${name}` as RunId;
export const receiptIdOf = (name: string): ReceiptId => `receipt-${name}` as ReceiptId;
export const TASK_ID = 'task-1' as TaskId;

export const aTenant = (change: Partial<TenantPolicy> = {}): TenantPolicy => ({
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

export const aRoute = (change: Partial<RoutePolicy> = {}): RoutePolicy => ({
  id: 'fix',
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
  verify: [],
  onNewVersion: 'cancelOther',
  debounce: null,
  dedupeWindowMs: 86_400_000,
  timeToLiveMs: null,
  requires: {},
  risk: 'LOW',
  headStartSeconds: 0,
  concurrency: null,
  limits: {
    wallClockMs: 1,
    sandboxStartMs: 1,
    silenceMs: 1,
    verifyMs: 1,
    finalizeMs: 1,
    outputBytes: 1,
    changedFiles: 1,
    diffLines: 1,
    costUsd: null,
  },
  retry: { maxAttempts: 3, maxInfrastructure: 5, maxLeaseLost: 3, backoffMs: [30_000] },
  queue: 'default',
  paths: [],
  protectedPaths: [],
  maxOpenPullRequests: null,
  repositoryFile: null,
  ...change,
});

export const aSignal = (change: Partial<Signal> = {}): Signal => ({
  source: 'acme',
  eventId: '1/a',
  type: 'github.check_run.completed',
  trigger: 'event',
  via: 'webhook',
  hookId: '1',
  subject: null,
  emittedAt: null,
  receivedAt: NOW,
  actor: null,
  repository: { externalId: '42', fullName: 'acme/api', defaultBranch: 'main' },
  target: null,
  inputVersion: null,
  sourceAt: null,
  parentVersions: [],
  data: {},
  traceparent: null,
  ...change,
});

export interface CandidateChange {
  readonly name?: string;
  readonly version?: string;
  readonly at?: Date | null;
  readonly parents?: readonly string[];
  readonly signal?: Partial<Signal>;
  readonly workKey?: string;
}

/** `name` makes the ids and, unless told otherwise, the delivery. */
export function aCandidate(change: CandidateChange & Partial<Omit<Candidate, 'signal'>> = {}): Candidate {
  const { name = 'a', version = 'v1', at = null, parents = [], signal = {}, workKey = KEY, ...rest } = change;
  return {
    receiptId: receiptIdOf(name),
    runId: runIdOf(name),
    taskId: TASK_ID,
    deferredId: `deferred-${name}` as DeferredId,
    signal: aSignal({
      eventId: name,
      inputVersion: version,
      sourceAt: at,
      parentVersions: parents,
      ...signal,
    }),
    tenant: aTenant(),
    route: aRoute(),
    work: { workKey, inputVersion: version },
    verdict: null,
    directive: { kind: 'none' },
    parentReceiptId: null,
    isFurtherRoute: false,
    isDebounced: false,
    repository: null,
    ...rest,
  };
}

export const aTask = (change: Partial<TaskState> = {}): TaskState => ({
  taskId: TASK_ID,
  generation: 1,
  publication: 1,
  cancelled: false,
  latest: null,
  latch: null,
  debounced: [],
  hasOpenPublication: false,
  live: [],
  versions: new Map(),
  ...change,
});

export const aLiveRun = (name: string, change: Partial<LiveRun> = {}): LiveRun => ({
  runId: runIdOf(name),
  generation: 1,
  inputVersion: name,
  sourceAt: null,
  parentVersions: [],
  status: 'RUNNING',
  ...change,
});

/** A task that runs the given versions, the last one being the latest. */
export function aTaskRunning(...live: readonly LiveRun[]): TaskState {
  const last = live.at(-1);
  return aTask({
    live,
    latest: last ?? null,
    versions: new Map(
      live.map((run) => [run.inputVersion, { runId: run.runId, generation: run.generation, outcome: null }]),
    ),
  });
}

export const aState = (
  change: Partial<AdmissionState> & { readonly task?: TaskState } = {},
): AdmissionState => {
  const { task = aTask(), ...rest } = change;
  return {
    deliveries: new Map(),
    tasks: new Map([[`default\u0000${KEY}`, task]]),
    queuedByTenant: new Map(),
    openByRepository: new Map(),
    now: NOW,
    ...rest,
  };
};

/** Minutes after a fixed time: readable source times. */
export const minute = (minutes: number): Date => new Date(Date.UTC(2026, 0, 1, 0, minutes));
