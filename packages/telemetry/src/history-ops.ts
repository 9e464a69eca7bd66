/**
 * The operations that the history checker understands, and what each one carries. The recorder takes any name;
 * a name that is not here is ignored by the checker, and what it does not find it reports as *unknown*.
 *
 * `invoke` is recorded before the statement or call, then exactly one of `ok` (it took effect), `fail` (it
 * surely did not) or `info` (nobody can know: a time-out, a connection cut after COMMIT was sent). Answer and
 * invoke belong together by (proc, op, run, leaseId, key): ids are made before the first try, so both have them.
 * Instants in `result` are database time as ISO text or milliseconds; a field in brackets may be left out.
 */
export const HISTORY_OPS = {
  /** Answer to one signal. key = receipt id. result {receiptId, reasonCode, [runId], [taskId], [generation], [inputVersion], [idempotencyKey], [bodyDigest]}; fail: [refusal: reason code]. */
  intakeAnswer: 'intake.answer',
  /** A hint reached a worker. run, key = dispatch number. */
  hintReceive: 'hint.receive',
  /** One claim statement. ok result {workerId, limit, slots, rows}. */
  claimBatch: 'lease.claimBatch',
  /** One row of a claim. run, fencingToken, leaseId; ok result {acquiredAt, expiresAt, [workerId], [attemptNo]}. */
  claim: 'lease.claim',
  /** One lease of a heartbeat. ok result {renewedAt, previousExpiresAt, expiresAt}; fail result {answer}. */
  renew: 'lease.renew',
  /** The worker stopped trusting its lease. ok. */
  trustLost: 'lease.trustLost',
  /** A reaper took or parked an expired lease. ok result {expiredAt, reapedAt}; fail: another one had it. */
  reap: 'lease.reap',
  /** A coalesced stage write. ok result {committedAt, to}; fail: the lease was not current. */
  stage: 'run.stage',
  /** The finish transaction, also a drain's hand-back. ok result {committedAt, status}; fail: not current. */
  finish: 'run.finish',
  /** A cancel of a run. ok result {committedAt}. */
  cancel: 'run.cancel',
  /** Guarded work begins: the agent, a verification. Only invoke is judged. */
  workStart: 'work.start',
  /** An intent was written. key = operation key; ok result {committedAt}; fail: not current. */
  intend: 'operation.intend',
  /** A call to the provider. key = operation key; info on a time-out. */
  effectCall: 'effect.call',
  /** A read of the provider before a retry, or to resolve. key = operation key; ok result {found}. */
  effectLookup: 'effect.lookup',
  /** A subscriber took an event. key = subscriber; ok result {eventId}. */
  eventDeliver: 'event.deliver',
  /** A test emptied Redis. info. */
  redisFlushed: 'fault.redisFlushed',
  /** A test killed, stopped or cut something. info, result {fault}. */
  fault: 'fault.injected',
} as const;
export type HistoryOp = (typeof HISTORY_OPS)[keyof typeof HISTORY_OPS];
