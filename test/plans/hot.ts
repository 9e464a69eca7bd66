/** The hot statements, in the order of a run's way: by which indexes, and how many pages they may look at here. */

export interface HotStatement {
  readonly statement: string;
  /** All of them are used. */
  readonly indexes: readonly RegExp[];
  /** Half again as many as were seen, and a little more. */
  readonly buffers: number;
}

const hot = (statement: string, buffers: number, ...indexes: readonly RegExp[]): HotStatement => ({
  statement,
  indexes,
  buffers,
});

export const HOT: readonly HotStatement[] = [
  // Admission, 50 signals.
  hot('delivery.remember', 700),
  hot('delivery.first', 700, /^delivery_pkey$/, /^receipt_\d+_\d+_pkey$/),
  hot('task.make', 1_200),
  hot('task.lock_by_key', 500, /^task_tenant_id_key_hash_key$/),
  hot('task_version.live', 450, /^task_version_live$/, /^run_pkey$/),
  hot('task_version.known', 450, /^task_version_pkey$/),
  hot('run.insert', 1_000),
  hot('task_version.insert', 450),
  hot('queue_item.insert', 700),
  hot('run_event.born', 1_200, /^run_pkey$/),
  hot('receipt.insert_decisions', 1_000),
  hot('payload.insert', 300),
  hot('task_signal.insert', 700),
  hot('task.set_latest', 1_000, /^task_pkey$/),
  // Dispatch, 200 tenants, 800 heads, 100 chosen.
  hot('dispatch.held', 120, /^queue_item_dispatched$/),
  hot('worker.live', 80, /^worker_live$/),
  hot('queue_item.ready_pairs', 1_800, /^queue_item_ready$/),
  hot('queue_item.ready_heads', 8_000, /^queue_item_ready$/, /^queue_item_pkey$/),
  hot('queue_item.mark_dispatched', 3_000, /^queue_item_pkey$/, /^run_pkey$/),
  hot('dispatched_run.marked', 1_500, /^queue_item_pkey$/, /^run_pkey$/, /^task_pkey$/),
  // Verdict and claim, 50 runs of 100 hinted.
  hot('dispatched_run.named', 2_000, /^queue_item_pkey$/, /^run_pkey$/, /^task_pkey$/),
  hot('dispatched_run.waiting', 1_200, /^queue_item_dispatched$/, /^run_pkey$/, /^task_pkey$/),
  hot('queue_item.lock', 60, /^queue_item_pkey$/),
  hot('queue_item.delay', 120, /^queue_item_pkey$/),
  hot('queue_item.remove', 150, /^queue_item_pkey$/),
  hot('claim.take', 2_700, /^queue_item_pkey$/, /^run_pkey$/, /^task_pkey$/),
  hot('run.claim', 700, /^lease_pkey$/, /^run_pkey$/),
  hot('attempt.start', 1_700, /^run_pkey$/),
  // While they run.
  hot('lease.beat', 700, /^lease_pkey$/),
  hot('lease.lock_fenced', 200),
  hot('run.lock', 350, /^run_pkey$/),
  hot('run.move', 1_800, /^run_pkey$/),
  hot('run_event.insert', 1_100),
  // Finish, 49 runs.
  hot('attempt.finish', 900, /^attempt_(running|pkey)$/),
  hot('run.set_counters', 250, /^run_pkey$/),
  hot('run.add_cost', 1_200, /^run_pkey$/),
  hot('tenant_day.settle', 700, /^attempt_pkey$/),
  hot('queue_item.requeue', 250, /^run_pkey$/, /^lease_pkey$/),
  hot('lease.release', 150, /^lease_pkey$/),
  hot('task_version.close', 1_000, /^run_pkey$/, /^task_version_(live|pkey)$/),
  hot(
    'receipt.insert_closing',
    2_200,
    /^run_pkey$/,
    /^task_pkey$/,
    /^attempt_run_id_number_key$/,
    /^receipt_\d+_\d+_pkey$/,
  ),
  hot('dead_letter.bury', 200, /^run_pkey$/, /^attempt_run_id_number_key$/),
  // Reaper, one of 500.
  hot('lease.counts', 80),
  hot('lease.lock_expired', 100),
  // Each second or so, 100 rows.
  hot(
    'due_work.look',
    40,
    /^queue_item_ready$/,
    /^queue_item_delayed$/,
    /^queue_item_expiry$/,
    /^queue_item_dispatched$/,
    /^deferred_signal_due$/,
  ),
  hot('queue_item.promote_due', 2_000, /^queue_item_delayed$/, /^queue_item_pkey$/),
  hot('queue_item.lock_expired', 20, /^queue_item_expiry$/),
  hot('queue_item.due_hints', 1_300, /^queue_item_dispatched$/, /^queue_item_pkey$/),
  hot('queue_item.take_back', 2_000, /^queue_item_dispatched$/, /^queue_item_pkey$/),
  hot('deferred_signal.due', 20, /^deferred_signal_due$/),
  // Each minute, pages of 1000 and batches of 100.
  hot('repair.walk_versions', 16_000, /^task_version_live$/, /^run_pkey$/, /^queue_item_pkey$/),
  hot('repair.walk_items', 16_000, /^queue_item_pkey$/, /^run_pkey$/),
  hot('repair.walk_leases', 9_000, /^lease_pkey$/, /^run_pkey$/, /^queue_item_pkey$/),
  hot('repair.promote_late', 2_000, /^queue_item_delayed$/, /^queue_item_pkey$/),
  hot('repair.hint_standings', 1_400, /^run_pkey$/, /^queue_item_pkey$/),
  hot('repair.broken_latches', 20, /^task_latch$/),
  hot('repair.end_lost_attempts', 3_500, /^attempt_running$/, /^run_pkey$/),
  hot('deferred_signal.release_orphan_latches', 20, /^task_latch$/),
  hot('delivery.forget_expired', 40, /^delivery_expiry$/),
  hot('approval.forget', 1_600, /^approval_pkey$/, /^run_pkey$/),
  hot('worker.declare_dead', 20, /^worker_live$/),
  hot('instance.figures', 100, /^worker_live$/, /^operation_unsettled$/),
];
