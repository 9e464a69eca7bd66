/**
 * Waiting for more signals of the same work (I8): each one puts the decision off by the quiet time, but never beyond
 * the bound after the first. The newest version waits; the versions that it replaces have their receipts, and their
 * triggers stay on the task.
 *
 * A version whose place beside the waiting one is unknown must neither push it out nor be swallowed: it waits beside
 * it. An older one was refused before it came here.
 */
import { order } from '../source-order.js';
import type { Asked } from './admit.js';
import { decide } from './decision.js';
import type { Candidate, Decision, TaskState } from './types.js';

/** A version that is promoted no longer waits, whatever is decided now. */
export const withoutItsWaiting = (task: TaskState, { parentReceiptId }: Candidate): TaskState =>
  parentReceiptId !== null && task.debounced.some(({ receiptId }) => receiptId === parentReceiptId)
    ? { ...task, debounced: task.debounced.filter(({ receiptId }) => receiptId !== parentReceiptId) }
    : task;

/** Null: the route does not wait, or the signal has waited already. */
export function byDebounce({ state, candidate, route, task, point }: Asked): Decision | null {
  const { debounce } = route;
  if (debounce === null || candidate.isDebounced) return null;
  const replaced = task.debounced.find((waiting) => {
    const relation = order(point, waiting);
    return waiting.route === route.id && (relation === 'newer' || relation === 'same');
  });
  const since = replaced?.since ?? state.now;
  const quietAtMs = state.now.getTime() + debounce.quietMs;
  const dueAt = new Date(Math.min(quietAtMs, since.getTime() + debounce.maxMs));
  return decide(candidate, {
    outcome: 'defer',
    reasonCode: 'DEBOUNCED',
    rule: 'route.debounce',
    taskId: task.taskId,
    generation: task.generation,
    retryAfter: dueAt,
    writes: [
      {
        kind: 'debounce',
        taskId: task.taskId,
        candidate,
        since,
        dueAt,
        replaces: replaced?.deferredId ?? null,
      },
    ],
  });
}
