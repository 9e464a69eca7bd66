import type { AdmissionWrite, Candidate, TaskState } from './types.js';

/** Its own latch falls with the promotion; another's stays as it is. */
export const standingLatch = (task: TaskState, candidate: Candidate): readonly AdmissionWrite[] =>
  task.latch !== null && task.latch.receiptId === candidate.parentReceiptId
    ? [{ kind: 'latch', taskId: task.taskId, latch: null, candidate: null }]
    : [];
