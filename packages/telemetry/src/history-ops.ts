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
  /** Answer to one signal. key = receipt id. ok result {receiptId, reasonCode, [runId], [taskId], [generation], [inputVersion], [idempotencyKey], [bodyDigest]}; fail result {refusal: reason code}. */
  intakeAnswer: 'intake.answer',
  /** A hint reached a worker. info; run, key = dispatch number. */
  hintReceive: 'hint.receive',
  /**
   * A claim. One invoke per statement (no run; key = worker id; result: the run ids asked for, or {limit}), then one
   * ok per run taken, with run, fencingToken, leaseId and the same key; result {[acquiredAt], [expiresAt]}.
   */
  claim: 'claim',
  /** One lease of a heartbeat. ok result {renewedAt, previousExpiresAt, expiresAt}; fail result {answer}. */
  renew: 'renew',
  /** The worker stopped trusting its lease. ok. */
  trustLost: 'lease.trustLost',
  /** A reaper took an expired lease, recorded after its commit. ok result {expiredAt, reapedAt}, or {graced: true, reapedAt, expiresAt} when it only gave time; fail: another one had it. */
  reap: 'reap',
  /** A coalesced stage write. ok result {[committedAt]}; fail: the lease was not current. */
  stage: 'stage',
  /** The finish transaction, also a drain's hand-back. ok result {status, [committedAt]}; fail: not current. */
  finish: 'finish',
  /** A cancel of a run. ok. */
  cancel: 'cancel',
  /** Guarded work begins: the agent, a verification. Only invoke is judged. */
  workStart: 'work.start',
  /** An intent was written. key = operation key. ok result {[committedAt]}; fail: not current. */
  intend: 'effect.intend',
  /** The fence was validated again and the attempt written, just before the call. key = operation key. */
  attempt: 'effect.attempt',
  /** A call to the provider. key = operation key; info on a time-out. */
  effectCall: 'effect.call',
  /** A read of the provider. key = operation key; ok or info, result {kind: ours | untouched | other | unreadable}. */
  effectRead: 'effect.read',
  /** A subscriber took an event. ok; key = subscriber; result {eventId}. */
  eventDeliver: 'event.deliver',
  /** A test emptied Redis. info. */
  redisFlushed: 'fault.redisFlushed',
} as const;
export type HistoryOp = (typeof HISTORY_OPS)[keyof typeof HISTORY_OPS];
