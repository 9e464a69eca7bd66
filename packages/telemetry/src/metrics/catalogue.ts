/**
 * Every metric, once (law 8). Names of the first fourteen are those of the requirements (Q32); the rest are
 * ours. Labels are closed or bounded lists, never ids, keys or repositories: 2 000 label sets overflow a metric
 * and lose all its labels at once.
 */
import { OPERATION_KINDS, OPERATION_STATES, REASON_CODES, RUN_STATUSES } from '@headgate/domain';
import { counter, gauge, histogram } from './spec.js';

/** Queues, providers and the like come from the configuration: few, but not known here. */
const CONFIGURED = { atMost: 50 } as const;
const TRIGGERS = ['event', 'schedule', 'goal', 'manual'] as const;
const OUTCOMES = ['accept', 'defer', 'reject', 'no-work'] as const;
/** What can be at its limit. */
export const CAPACITY_DIMENSIONS = [
  'global',
  'tenant',
  'organisation',
  'repository',
  'user',
  'task_type',
  'risk',
  'queue',
  'agent',
  'provider',
  'sandbox',
  'concurrency_key',
  'tokens_per_minute',
  'cost',
] as const;

const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;
const RUN_SECONDS = [1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200] as const;
const BATCH_ROWS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] as const;
const MINUTE_MS = 60_000;

export const METRICS = {
  admissionAccepted: counter({
    name: 'scheduler.admission.accepted.count',
    unit: '{signal}',
    description: 'Signals that led to a run or were attached to one.',
    labels: { trigger: TRIGGERS },
  }),
  admissionDenied: counter({
    name: 'scheduler.admission.denied.count',
    unit: '{signal}',
    description: 'Signals that were refused, by reason.',
    labels: { reason_code: REASON_CODES },
  }),
  queueDepth: gauge({
    name: 'scheduler.queue.depth',
    unit: '{run}',
    description: 'Queue items by queue and state.',
    labels: { queue_name: CONFIGURED, state: ['delayed', 'ready', 'dispatched'] },
  }),
  queueOldestReadyAge: gauge({
    name: 'scheduler.queue.oldest_ready_age_seconds',
    unit: 's',
    description: 'Age of the oldest item that is ready and not dispatched.',
    labels: { queue_name: CONFIGURED },
    alert: {
      when: 'max by (queue_name) ({metric}) > 900',
      forMs: 5 * MINUTE_MS,
      severity: 'page',
      summary: 'Work has waited in queue {{ $labels.queue_name }} for more than 15 minutes.',
      firstStep: 'headgate status; headgate why <the oldest run> names what would let it start.',
    },
  }),
  claimSuccess: counter({
    name: 'scheduler.claim.success.count',
    unit: '{run}',
    description: 'Runs claimed by workers.',
    labels: { queue_name: CONFIGURED },
  }),
  claimEmpty: counter({
    name: 'scheduler.claim.empty.count',
    unit: '{claim}',
    description: 'Claim statements that found nothing: duplicate hints, or polling.',
    labels: { queue_name: CONFIGURED },
  }),
  leaseActive: gauge({
    name: 'scheduler.lease.active.count',
    unit: '{lease}',
    description: 'Leases that stand now, expired ones included until they are reaped.',
  }),
  leaseExpired: counter({
    name: 'scheduler.lease.expired.count',
    unit: '{lease}',
    description: 'Expired leases taken by the reaper.',
    alert: {
      when: 'rate({metric}[10m]) * 600 > 5',
      forMs: 5 * MINUTE_MS,
      severity: 'ticket',
      summary: 'More than five leases expired in ten minutes: workers die, freeze, or cannot reach Postgres.',
      firstStep: 'headgate workers list; look for restarts and for slow renewals.',
    },
  }),
  retry: counter({
    name: 'scheduler.retry.count',
    unit: '{attempt}',
    description: 'Attempts that ended and will be tried again, by reason.',
    labels: { reason_code: REASON_CODES },
  }),
  runDuration: histogram({
    name: 'scheduler.run.duration_seconds',
    unit: 's',
    description: 'From the first claim to the end of the run, by final status.',
    labels: { status: RUN_STATUSES },
    buckets: RUN_SECONDS,
  }),
  workerActive: gauge({
    name: 'scheduler.worker.active.count',
    unit: '{worker}',
    description: 'Workers whose heartbeat is fresh.',
    alert: {
      when: 'max({metric}) == 0',
      forMs: 5 * MINUTE_MS,
      severity: 'page',
      summary: 'No worker is alive: admitted work waits.',
      firstStep: 'Start a worker: headgate worker; then headgate doctor.',
    },
  }),
  workerHeartbeatLag: gauge({
    name: 'scheduler.worker.heartbeat.lag_seconds',
    unit: 's',
    description: 'Longest time since the last heartbeat among live workers.',
    alert: {
      when: 'max({metric}) > 40',
      forMs: 2 * MINUTE_MS,
      severity: 'ticket',
      summary: 'A worker has not renewed within its renew deadline.',
      firstStep: 'headgate workers list shows which; check its load and its way to Postgres.',
    },
  }),
  capacityDenied: counter({
    name: 'scheduler.capacity.denied.count',
    unit: '{decision}',
    description: 'Times a ready run was passed over because a dimension was at its limit.',
    labels: { dimension: CAPACITY_DIMENSIONS },
  }),
  cancellationLatency: histogram({
    name: 'scheduler.cancellation.latency_seconds',
    unit: 's',
    description: 'From the commit of a cancel to the moment the run is CANCELLED.',
    buckets: [0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300],
    alert: {
      when: 'histogram_quantile(0.95, sum by (le) (rate({metric}_bucket[15m]))) > 60',
      forMs: 15 * MINUTE_MS,
      severity: 'ticket',
      summary: 'Cancelling takes more than a minute.',
      firstStep: 'headgate runs list --status CANCELLING; see whether their workers are alive.',
    },
  }),

  feedback: counter({
    name: 'headgate.feedback.count',
    unit: '{answer}',
    description: 'Refusals told to people where they asked, by what became of it.',
    labels: { state: ['confirmed', 'ambiguous', 'abandoned'] },
  }),
  receipts: counter({
    name: 'headgate.receipts.count',
    unit: '{receipt}',
    description: 'Receipts by outcome and reason.',
    labels: { outcome: OUTCOMES, reason_code: REASON_CODES },
    alert: {
      when: 'sum(rate({metric}{reason_code="SIGNATURE_INVALID"}[10m])) * 600 > 10',
      forMs: 10 * MINUTE_MS,
      severity: 'ticket',
      summary: 'Deliveries arrive with a wrong signature.',
      firstStep: 'headgate doctor compares the webhook secrets; a rotation may be half done.',
    },
  }),
  intakeDuration: histogram({
    name: 'headgate.intake.duration_seconds',
    unit: 's',
    description: 'From the end of a signal’s body to its durable receipt.',
    labels: { trigger: TRIGGERS, outcome: OUTCOMES },
    buckets: REQUEST_SECONDS,
    alert: {
      when: 'histogram_quantile(0.99, sum by (le) (rate({metric}_bucket[5m]))) > 5',
      forMs: 5 * MINUTE_MS,
      severity: 'page',
      summary: 'Receipts take more than five seconds; GitHub gives up after ten and does not try again.',
      firstStep: 'Look at Postgres: locks, disk, connections. headgate status names the slow part.',
    },
  }),
  intakeBatchSize: histogram({
    name: 'headgate.intake.batch.size',
    unit: '{signal}',
    description: 'Signals committed by one intake transaction.',
    buckets: BATCH_ROWS,
  }),
  httpDuration: histogram({
    name: 'headgate.http.duration_seconds',
    unit: 's',
    description: 'HTTP requests served, by route template.',
    labels: {
      method: ['GET', 'POST', 'DELETE', 'other'],
      route: { atMost: 55 },
      status_class: ['1xx', '2xx', '3xx', '4xx', '5xx'],
    },
    buckets: REQUEST_SECONDS,
  }),
  hintHealthy: gauge({
    name: 'headgate.hint.healthy',
    unit: '1',
    description: '1 while hints travel through Redis, 0 while workers fall back to polling.',
    alert: {
      when: 'min({metric}) == 0',
      forMs: 5 * MINUTE_MS,
      severity: 'ticket',
      summary: 'Hints are unhealthy: work is picked up by polling, later than usual. No work is lost.',
      firstStep: 'Check Redis: reachable, maxmemory-policy noeviction, not full.',
    },
  }),
  hintPublished: counter({
    name: 'headgate.hint.published.count',
    unit: '{hint}',
    description: 'Hints offered to Redis, by result.',
    labels: { result: ['sent', 'failed', 'resent'] },
  }),
  hintConsumed: counter({
    name: 'headgate.hint.consumed.count',
    unit: '{hint}',
    description: 'Hints a worker consumed: claimed, or without a dispatched run behind them.',
    labels: { result: ['claimed', 'stale', 'malformed'] },
  }),
  hintLag: histogram({
    name: 'headgate.hint.lag_seconds',
    unit: 's',
    description: 'From the dispatch commit to the hint’s arrival at a worker.',
    buckets: REQUEST_SECONDS,
  }),
  operations: gauge({
    name: 'headgate.operation.count',
    unit: '{operation}',
    description:
      'Operations of the ledger that are not settled, and those settled in the last day, by state.',
    labels: { kind: OPERATION_KINDS, state: OPERATION_STATES },
  }),
  operationTransitions: counter({
    name: 'headgate.operation.transition.count',
    unit: '{operation}',
    description: 'Steps of the operation ledger, by the state reached.',
    labels: { kind: OPERATION_KINDS, state: OPERATION_STATES },
  }),
  operationOldestAmbiguousAge: gauge({
    name: 'headgate.operation.ambiguous.oldest_age_seconds',
    unit: 's',
    description: 'Age of the oldest side effect whose outcome is not known yet.',
    alert: {
      when: 'max({metric}) > 900',
      forMs: 5 * MINUTE_MS,
      severity: 'ticket',
      summary: 'A side effect’s outcome has been unknown for 15 minutes.',
      firstStep: 'headgate status names the operation; the provider may refuse our reads.',
    },
  }),
  costReserved: gauge({
    name: 'headgate.cost.reserved_usd',
    unit: 'USD',
    description: 'Cost reserved by dispatched and running work.',
  }),
  costSpent: counter({
    name: 'headgate.cost.spent_usd',
    unit: 'USD',
    description: 'Settled cost, by what it is known from.',
    labels: { evidence: ['reported', 'metered', 'estimated'], provider: CONFIGURED },
  }),
  dispatchDuration: histogram({
    name: 'headgate.dispatch.duration_seconds',
    unit: 's',
    description: 'One dispatch transaction, the wait for its lock included.',
    buckets: REQUEST_SECONDS,
  }),
  dispatchBatchSize: histogram({
    name: 'headgate.dispatch.batch.size',
    unit: '{run}',
    description: 'Runs marked by one dispatch transaction.',
    buckets: BATCH_ROWS,
  }),
  claimDuration: histogram({
    name: 'headgate.claim.duration_seconds',
    unit: 's',
    description: 'One claim transaction.',
    buckets: REQUEST_SECONDS,
  }),
  claimBatchSize: histogram({
    name: 'headgate.claim.batch.size',
    unit: '{run}',
    description: 'Runs taken by one claim transaction.',
    buckets: BATCH_ROWS,
  }),
  startDelay: histogram({
    name: 'headgate.start.delay_seconds',
    unit: 's',
    description: 'From admission to the first claim.',
    labels: { queue_name: CONFIGURED },
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60, 300, 900, 3600],
  }),
  leaseRenewals: counter({
    name: 'headgate.lease.renewal.count',
    unit: '{lease}',
    description: 'Heartbeat answers per lease.',
    labels: { answer: ['renewed', 'control', 'busy', 'expired', 'lost', 'error'] },
  }),
  sourceLooks: counter({
    name: 'headgate.source.look.count',
    unit: '{look}',
    description: 'Looks at repositories of sources (poll and scan), by how they ended.',
    labels: { result: ['looked', 'denied', 'limited', 'unavailable'] },
    alert: {
      when: 'sum(rate({metric}{result!="looked"}[15m])) * 900 > 10',
      forMs: 15 * MINUTE_MS,
      severity: 'ticket',
      summary: 'Sources cannot be looked at.',
      firstStep: 'headgate status names the source and what it answered.',
    },
  }),
  sourceSilent: gauge({
    name: 'headgate.source.silent',
    unit: '{source}',
    description: 'Repositories where the scan finds what the hook does not bring.',
    alert: {
      when: 'max({metric}) > 0',
      forMs: 5 * MINUTE_MS,
      severity: 'ticket',
      summary: 'A hook is silent: its events are found late, by the scan.',
      firstStep: 'headgate status names the source; look at the recent deliveries of its hook.',
    },
  }),
  redeliveries: counter({
    name: 'headgate.source.redelivery.count',
    unit: '{delivery}',
    description: 'Failed deliveries that the forge was asked to send again.',
    labels: { result: ['asked', 'failed'] },
  }),
  repairs: counter({
    name: 'headgate.repair.count',
    unit: '{repair}',
    description: 'Repairs by the reconciler, by reason.',
    labels: { reason_code: REASON_CODES },
  }),
  jobFailures: counter({
    name: 'headgate.job.failure.count',
    unit: '{failure}',
    description: 'Background jobs that ended a turn with a fault, by job.',
    labels: { job: CONFIGURED },
    alert: {
      when: 'sum by (job) (rate({metric}[15m])) * 900 > 5',
      forMs: 15 * MINUTE_MS,
      severity: 'ticket',
      summary: 'Background job {{ $labels.job }} keeps failing.',
      firstStep: 'Its log lines carry the cause; the loop goes on by itself.',
    },
  }),
  eventReaderLag: gauge({
    name: 'headgate.event.reader.lag_seconds',
    unit: 's',
    description:
      'Age of the oldest event that a subscriber has not taken; an open transaction holds readers back.',
    labels: { subscriber: CONFIGURED },
  }),
} as const;

export type MetricId = keyof typeof METRICS;
/** The fourteen of the requirements, in their order. */
export const REQUIRED_METRICS = [
  'admissionAccepted',
  'admissionDenied',
  'queueDepth',
  'queueOldestReadyAge',
  'claimSuccess',
  'claimEmpty',
  'leaseActive',
  'leaseExpired',
  'retry',
  'runDuration',
  'workerActive',
  'workerHeartbeatLag',
  'capacityDenied',
  'cancellationLatency',
] as const satisfies readonly MetricId[];
