/**
 * The closed catalogue of reason codes. Everything that names a reason (receipts, events, HTTP answers, docs,
 * labels) is derived from it. Retry is decided by code, never by log text (Q17).
 */
export type ReasonClass =
  | 'accept'
  | 'defer'
  | 'reject'
  | 'no-work'
  | 'waiting'
  | 'failure'
  | 'cancel'
  | 'done'
  | 'repair'
  | 'alert';

/** Which counter a failed attempt is charged to. `none` = not retried, `later` = not an attempt at all. */
export type RetryClass =
  | 'none'
  | 'later'
  | 'application'
  | 'infrastructure'
  | 'lease-lost'
  | 'rate-limit'
  | 'uncharged';

export interface Reason {
  readonly class: ReasonClass;
  readonly retry: RetryClass;
  /** What `POST /v1/work` answers with; webhooks are always 202. */
  readonly httpStatus: number;
  /** A sentence for people. */
  readonly message: string;
}

const reason = (
  reasonClass: ReasonClass,
  retry: RetryClass,
  httpStatus: number,
  message: string,
): Reason => ({ class: reasonClass, retry, httpStatus, message });

export const REASONS = {
  ADMITTED: reason('accept', 'none', 202, 'The work was admitted and a run was made.'),
  EXISTING_RUN: reason(
    'accept',
    'none',
    202,
    'A run for this work is under way; the signal was attached to it.',
  ),
  QUEUED_NEXT: reason('accept', 'none', 202, 'A run of this work is under way; this version runs next.'),
  APPROVAL_REQUIRED: reason('accept', 'none', 202, 'A person has to agree before it goes on.'),
  PING: reason('no-work', 'none', 202, 'The source tested the connection.'),
  OBSERVED: reason('no-work', 'none', 202, 'The route only observes: no run was made.'),
  NOTHING_FOUND: reason('no-work', 'none', 202, 'The source was read and held nothing to do.'),
  NO_CHANGE: reason('no-work', 'none', 202, 'The agent finished and changed nothing.'),
  STALE_INPUT: reason(
    'no-work',
    'none',
    202,
    'The input has moved on since the signal: there is nothing left to do for this version.',
  ),
  TARGET_CLOSED: reason('no-work', 'none', 202, 'The target is closed or merged.'),
  OVERLAP_SKIPPED: reason('no-work', 'none', 202, 'The earlier run of this schedule was still under way.'),
  MISSED_CATCHUP: reason(
    'no-work',
    'none',
    202,
    'The nominal time passed while nothing ticked, and lies outside the catch-up rule.',
  ),
  SCHEDULE_EXCLUDED: reason('no-work', 'none', 202, 'The schedule leaves this day out.'),
  SCHEDULE_CHANGED: reason(
    'no-work',
    'none',
    202,
    'The schedule was changed before this nominal time was settled.',
  ),
  OBSERVATION_UNKNOWN: reason(
    'no-work',
    'none',
    202,
    'The observation of a goal did not say whether it holds.',
  ),
  DEBOUNCED: reason('defer', 'later', 202, 'Waiting for more signals of the same work before it starts.'),
  HEAD_UNRESOLVED: reason('defer', 'later', 202, 'The head could not yet be resolved to a target.'),
  SOURCE_DISAGREES: reason('defer', 'later', 202, 'Two reads of the source disagree about the head.'),
  SOURCE_UNAVAILABLE: reason('defer', 'later', 202, 'The source could not be read.'),
  REPOSITORY_CONFIG_PENDING: reason('defer', 'later', 202, '.headgate.yaml of the repository is being read.'),
  REPOSITORY_CONFIG_INVALID: reason(
    'defer',
    'later',
    202,
    '.headgate.yaml of the repository cannot be read or is invalid.',
  ),
  TENANT_DAILY_MODEL_BUDGET_EXCEEDED: reason(
    'defer',
    'later',
    202,
    'The tenant has spent its model budget of the day.',
  ),
  OPEN_PULL_REQUEST_LIMIT: reason(
    'defer',
    'later',
    429,
    'The repository has as many open pull requests of ours as it may have.',
  ),
  QUEUE_FULL: reason('defer', 'later', 429, 'The tenant has as many waiting runs as it may have.'),
  PAUSED: reason('defer', 'later', 202, 'The route, queue or tenant is paused.'),
  FROZEN: reason('defer', 'later', 202, 'A freeze holds all work of this scope.'),
  INCIDENT_MODE: reason('defer', 'later', 202, 'Incident mode is on.'),
  RAMPING: reason('defer', 'later', 202, 'Admission is ramping up after an outage.'),
  BREAKER_OPEN: reason('defer', 'later', 202, 'A breaker is open for what this run needs.'),
  READY: reason('waiting', 'later', 202, 'Eligible: only waiting for its turn.'),
  GLOBAL_AT_LIMIT: reason('waiting', 'later', 202, 'As many runs are active as may be in all.'),
  TENANT_AT_LIMIT: reason('waiting', 'later', 202, 'The tenant has as many active runs as it may have.'),
  REPOSITORY_AT_LIMIT: reason(
    'waiting',
    'later',
    202,
    'The repository has as many active runs as it may have.',
  ),
  USER_AT_LIMIT: reason('waiting', 'later', 202, 'The user has as many active runs as they may have.'),
  RISK_AT_LIMIT: reason('waiting', 'later', 202, 'As many runs of this risk class are active as may be.'),
  PROVIDER_AT_LIMIT: reason(
    'waiting',
    'later',
    202,
    'The model provider has as many active runs as it may have.',
  ),
  CONCURRENCY_KEY_BUSY: reason('waiting', 'later', 202, 'Another run holds the concurrency key.'),
  NO_CAPABLE_WORKER: reason('waiting', 'later', 202, 'No live worker offers what this run requires.'),
  NO_ISOLATION: reason('waiting', 'later', 202, 'No live worker can isolate this agent.'),
  DISPATCH_EXPIRED: reason(
    'waiting',
    'later',
    202,
    'The run was dispatched and no worker claimed it in time; it is ready again.',
  ),
  RETRY_BACKOFF: reason('waiting', 'later', 202, 'Waiting for the back-off after a failed attempt.'),
  RATE_LIMITED: reason('waiting', 'later', 202, 'Waiting until the provider accepts calls again.'),
  DUPLICATE_DELIVERY: reason('reject', 'none', 409, 'This delivery was received before.'),
  GOAL_GIVEN_UP: reason('reject', 'none', 409, 'A goal reached one of its bounds and was given up.'),
  DUPLICATE_WORK: reason('reject', 'none', 409, 'This version of the work was admitted before.'),
  DUPLICATE_HOOK: reason('reject', 'none', 409, 'Another hook delivered the same event.'),
  SUPERSEDED: reason('reject', 'none', 409, 'A newer version of the same work takes its place.'),
  WORK_IN_PROGRESS: reason(
    'reject',
    'none',
    409,
    'A run of this work is under way and the route rejects new versions until it ends.',
  ),
  TASK_CANCELLED: reason('reject', 'none', 409, 'The task was cancelled; reset it to let it work again.'),
  STALE_EVENT: reason('reject', 'none', 403, 'The event is older than the replay window.'),
  SELF_TRIGGERED: reason('reject', 'none', 403, 'The event was caused by our own action.'),
  HOP_LIMIT: reason('reject', 'none', 403, 'Too many of our own runs lie between this event and a person.'),
  NOT_ELIGIBLE: reason('reject', 'none', 403, "The route's condition is not met."),
  OUT_OF_SCOPE: reason('reject', 'none', 403, "The repository, branch or path is outside the route's scope."),
  ACTOR_NOT_ALLOWED: reason('reject', 'none', 403, 'The actor may not ask for this work.'),
  TENANT_SUSPENDED: reason('reject', 'none', 403, 'The tenant is suspended.'),
  POLICY_DENIED: reason('reject', 'none', 403, 'Policy does not allow this run.'),
  APPROVED: reason('accept', 'none', 202, 'A person approved it.'),
  APPROVAL_DECLINED: reason('reject', 'none', 403, 'A person declined.'),
  APPROVAL_EXPIRED: reason('reject', 'none', 403, 'Nobody approved in time.'),
  WORK_KEY_EXHAUSTED: reason(
    'reject',
    'none',
    403,
    'The work key has used up its attempts, cost or runs since a person last acted.',
  ),
  RATE_EXCEEDED: reason(
    'reject',
    'none',
    429,
    'As many runs of this target or actor began within the window as may begin.',
  ),
  SIGNATURE_INVALID: reason('reject', 'none', 403, 'The signature does not match any secret of the source.'),
  NO_ROUTE: reason('reject', 'none', 404, 'No route takes this event.'),
  UNKNOWN_EVENT: reason('reject', 'none', 404, 'The event type is not known; it was kept.'),
  TASK_CONTRACT_INVALID: reason(
    'reject',
    'none',
    422,
    'The request does not name work that this route can do.',
  ),
  IDEMPOTENCY_KEY_REUSED: reason(
    'reject',
    'none',
    422,
    'The Idempotency-Key was used before with another body.',
  ),
  MALFORMED: reason('reject', 'none', 400, 'It came from a known sender, but cannot be read.'),
  IDEMPOTENCY_IN_FLIGHT: reason(
    'reject',
    'later',
    409,
    'A request with this Idempotency-Key is still being answered.',
  ),
  AGENT_FAILED: reason('failure', 'application', 200, 'The agent ended with an error.'),
  NO_RESULT: reason('failure', 'application', 200, 'The agent ended without a result.'),
  SILENCE_TIMEOUT: reason('failure', 'application', 200, 'The agent said nothing for too long.'),
  WALL_CLOCK_EXCEEDED: reason('failure', 'application', 200, 'The attempt ran longer than it may.'),
  SANDBOX_START_TIMEOUT: reason('failure', 'infrastructure', 200, 'The sandbox did not start in time.'),
  SANDBOX_FAILED: reason('failure', 'infrastructure', 200, 'The sandbox could not be prepared.'),
  GIT_CLONE_FAILED_TRANSIENT: reason(
    'failure',
    'infrastructure',
    200,
    'The repository could not be fetched.',
  ),
  EFFECT_FAILED: reason('failure', 'infrastructure', 200, 'A side effect could not be performed.'),
  INTERNAL_ERROR: reason(
    'failure',
    'infrastructure',
    200,
    'Headgate itself failed; the attempt keeps the evidence.',
  ),
  WORKER_LOST: reason('failure', 'lease-lost', 200, 'The worker stopped renewing its lease.'),
  STALE_LEASE: reason('failure', 'lease-lost', 200, 'The lease is no longer held.'),
  PROVIDER_RATE_LIMIT: reason('failure', 'rate-limit', 200, 'The provider asked to wait.'),
  WORKER_DRAINED: reason('failure', 'uncharged', 200, 'The worker was stopped and handed the run back.'),
  SETUP_FAILED: reason('failure', 'none', 200, 'A set-up command failed.'),
  VERIFIER_FAILED: reason('failure', 'none', 200, 'The verification failed.'),
  JUDGE_REJECTED: reason('failure', 'none', 200, 'The judge refused the result.'),
  PROTECTED_PATH: reason('failure', 'none', 200, 'The result touches a protected path.'),
  TURN_LIMIT: reason('failure', 'none', 200, 'The agent used up its turns.'),
  COST_LIMIT: reason('failure', 'none', 200, 'The run reached its cost limit.'),
  COST_VELOCITY: reason('failure', 'none', 200, 'Cost rose faster than allowed.'),
  RESOURCE_LIMIT: reason(
    'failure',
    'none',
    200,
    'The agent used more memory, processor time or disk than it may.',
  ),
  OUTPUT_LIMIT: reason('failure', 'none', 200, 'The result or its output is larger than allowed.'),
  SOURCE_MOVED: reason(
    'failure',
    'none',
    200,
    'The target moved while the run worked; nothing was overwritten.',
  ),
  ATTEMPTS_EXHAUSTED: reason('failure', 'none', 200, 'All attempts were used up.'),
  TIME_TO_LIVE_EXPIRED: reason('failure', 'none', 200, 'The run was not claimed within its time to live.'),
  CANCEL_UNCONFIRMED: reason(
    'failure',
    'none',
    200,
    'The agent could not be seen to stop before its lease ran out.',
  ),
  CANCELLED_BY_USER: reason('cancel', 'none', 200, 'A person cancelled it.'),
  PROPOSAL_DISCARDED: reason('cancel', 'none', 200, 'A person discarded the proposal.'),
  SUCCEEDED: reason('done', 'none', 200, 'The run finished and its side effects are confirmed.'),
  MASS_EXPIRY: reason('repair', 'none', 200, 'Many leases expired at once; each was given one grace period.'),
  REPAIR_ENQUEUED: reason(
    'repair',
    'none',
    200,
    'An admitted run without a queue item was put back into the queue.',
  ),
  REPAIR_ITEM_OF_TERMINAL: reason('repair', 'none', 200, 'A queue item of an ended run was removed.'),
  REPAIR_ITEM_MISPLACED: reason(
    'repair',
    'none',
    200,
    'A queue item was removed that stood where its run has no place for one.',
  ),
  REPAIR_LEASE_OF_TERMINAL: reason(
    'repair',
    'none',
    200,
    'A lease was removed that its run could not hold: it had ended, or it waits.',
  ),
  REPAIR_RUN_WITHOUT_LEASE: reason('repair', 'none', 200, 'A run that should hold a lease held none.'),
  REPAIR_HINT_RESENT: reason('repair', 'none', 200, 'A hint was lost and was sent again.'),
  REPAIR_HINT_REMOVED: reason(
    'repair',
    'none',
    200,
    'A hint without a dispatched run was removed from the queue.',
  ),
  REPAIR_LATCH_RELEASED: reason('repair', 'none', 200, 'A waiting next version had no live run before it.'),
  REPAIR_WORKER_DEAD: reason('repair', 'none', 200, "A worker's heartbeat went stale."),
  REPAIR_OPERATION_RESOLVED: reason(
    'repair',
    'none',
    200,
    'The outcome of an ambiguous operation was read from the provider.',
  ),
  REPAIR_OVERLONG_ATTEMPT: reason(
    'repair',
    'none',
    200,
    'An attempt ran beyond its maximum and lost its lease.',
  ),
  REPAIR_DUE_PROMOTED: reason('repair', 'none', 200, 'A due item was promoted late.'),
  SOURCE_SILENT: reason('alert', 'none', 200, 'The scan finds what the hook did not bring.'),
} as const satisfies Readonly<Record<string, Reason>>;

export type ReasonCode = keyof typeof REASONS;
export const REASON_CODES = Object.keys(REASONS) as readonly ReasonCode[];

export const isReasonCode = (text: string): text is ReasonCode => Object.hasOwn(REASONS, text);
export const reasonOf = (code: ReasonCode): Reason => REASONS[code];
export const messageOf = (code: ReasonCode): string => REASONS[code].message;
/** Anchor of the code in `docs/reason-codes.md`. */
export const anchorOf = (code: ReasonCode): string => `docs/reason-codes.md#${code.toLowerCase()}`;
