/**
 * What a cluster under test is asked to do: a policy whose agents are a few lines of shell, quick and told by gates
 * when to go on, so that a test stops a run exactly where it wants to.
 *
 * Check names choose the route: `quick-…` runs through, `gated-…` waits inside the agent, `verified-…` inside the
 * verification, `failing-…` ends with an error; `{lane}-…` runs through, on a queue of its own. Each result is a file
 * of its own per run that names the attempt it comes from. Runs share no concurrency key: all checks are on one branch,
 * and by default there would be one run at a time.
 */
import type { LeaseTiming, Policy, RoutePolicy, TriggerOn } from '@headgate/domain';
import { anAgent, aPolicy, aQueue, aRoute, aSource, someLimits } from '../builders/policy.js';

export const CLUSTER_SOURCE = 'example-github';
export const CLUSTER_REPOSITORY = { id: 4242, fullName: 'acme/api', defaultBranch: 'main' } as const;

/** Where nobody is killed: long enough that no lease is lost on a machine with too much to do. */
export const PATIENT_LEASE: LeaseTiming = {
  ttlMs: 15_000,
  heartbeatMs: 3_000,
  renewDeadlineMs: 10_000,
  stopMarginMs: 5_000,
};
/** Where leases have to run out for a test to go on. */
export const SHORT_LEASE: LeaseTiming = {
  ttlMs: 5_000,
  heartbeatMs: 1_000,
  renewDeadlineMs: 3_300,
  stopMarginMs: 1_700,
};

export interface WorkloadOptions {
  readonly forgePath: string;
  /** Folder of the gates. */
  readonly gates: string;
  /** File with the webhook secret. */
  readonly secretFile: string;
  readonly lease?: LeaseTiming;
  /** Applied to every route. */
  readonly route?: Partial<RoutePolicy>;
  readonly policy?: Partial<Omit<Policy, 'digest'>>;
  /** With a schedule that ticks every second. */
  readonly ticking?: boolean;
  /** Queues beside the default one, each with a route of its name. */
  readonly lanes?: readonly string[];
}

/** Each run writes its own file, so that no two results are equal by chance. */
const AGENT = `
run=$(sed -n 's/.*"id": "\\(run_[a-z0-9]*\\)".*/\\1/p' "$HEADGATE_INPUT" | head -n 1)
attempt=$(sed -n 's/.*"attempt": \\([0-9]*\\).*/\\1/p' "$HEADGATE_INPUT" | head -n 1)
echo "agent: $run, attempt $attempt"
: > "$GATES/agent-$run-$attempt"
if [ "$GATED" = yes ]; then
  while [ ! -e "$GATES/agents" ] && [ ! -e "$GATES/$run" ]; do sleep 0.05; done
fi
if [ "$FAILING" = yes ]; then exit 1; fi
mkdir -p results
echo "made by attempt $attempt" > "results/$run.txt"
`;

const verifyLine = (gates: string): string =>
  `: > '${gates}/verifying'; while [ ! -e '${gates}/verifications' ]; do sleep 0.05; done`;

const EVERY_SECOND: TriggerOn = {
  kind: 'schedule',
  ordinal: 0,
  cron: '@every 1s',
  timezone: 'UTC',
  startAt: null,
  endAt: null,
  exclude: [],
  jitterMs: 0,
  pauseOnFailure: false,
  overlap: 'allowAll',
  catchUp: { mode: 'latest', windowMs: 60_000, max: 1 },
};

export function workloadPolicy(options: WorkloadOptions): Policy {
  const { gates, forgePath, secretFile, lanes = [] } = options;
  const agent = (id: string, change: Readonly<Record<string, string>> = {}) =>
    anAgent({
      id,
      command: ['/bin/sh', '-c', AGENT],
      env: { GATES: gates, ...change },
    });
  const route = (id: string, change: Partial<RoutePolicy>): RoutePolicy =>
    aRoute({
      id,
      on: [{ kind: 'event', type: 'github.check_run.completed' }, { kind: 'manual' }],
      when: { source: `event.check_run.name.startsWith("${id}-")` },
      agent: 'quick',
      verify: [],
      limits: someLimits({ wallClockMs: 120_000, verifyMs: 60_000, silenceMs: 120_000 }),
      retry: { maxAttempts: 3, maxInfrastructure: 8, maxLeaseLost: 5, backoffMs: [200] },
      concurrency: { key: '', limit: 1 },
      ...change,
      ...options.route,
    });
  return aPolicy({
    sources: [
      aSource({
        id: CLUSTER_SOURCE,
        webhookSecrets: [`file:${secretFile}`],
        repositories: [
          {
            fullName: CLUSTER_REPOSITORY.fullName,
            url: forgePath,
            defaultBranch: CLUSTER_REPOSITORY.defaultBranch,
            ciTrusted: true,
          },
        ],
      }),
    ],
    agents: [agent('quick'), agent('gated', { GATED: 'yes' }), agent('failing', { FAILING: 'yes' })],
    routes: [
      route('quick', {}),
      route('gated', { agent: 'gated' }),
      route('failing', { agent: 'failing' }),
      route('verified', { verify: [verifyLine(gates)] }),
      ...lanes.map((lane) => route(lane, { queue: lane })),
      ...(options.ticking === true
        ? [route('ticking', { on: [EVERY_SECOND], when: null, repositories: [CLUSTER_REPOSITORY.fullName] })]
        : []),
    ],
    queues: ['default', ...lanes].map((id) => aQueue({ id })),
    lease: options.lease ?? PATIENT_LEASE,
    ...options.policy,
  });
}
