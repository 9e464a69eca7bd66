/**
 * What the store's transactions tell the history checker (HISTORY_OPS). An invoke before the transaction, and one
 * answer for each run after it: never from inside, where a rollback may still follow.
 */
import { type HistoryOp, record } from '@headgate/telemetry';

/** One run that a call is about. */
export interface Subject {
  readonly runId: string;
  readonly tenantId?: number;
  readonly fencingToken?: string;
  readonly leaseId?: string;
  /** What a call is known by besides its run: the worker of a claim. */
  readonly key?: string;
}

const entry = (op: HistoryOp, { runId, tenantId, fencingToken, leaseId, key }: Subject) => ({
  op,
  run: runId,
  ...(tenantId === undefined ? {} : { tenant: tenantId }),
  ...(fencingToken === undefined ? {} : { fencingToken }),
  ...(leaseId === undefined ? {} : { leaseId }),
  ...(key === undefined ? {} : { key }),
});

/** Answers of one call, each in the words of its operation. */
export const tell = {
  invoked: (op: HistoryOp, subject: Subject): void => record({ type: 'invoke', ...entry(op, subject) }),
  took: (op: HistoryOp, subject: Subject, result: Readonly<Record<string, unknown>>): void =>
    record({ type: 'ok', ...entry(op, subject), result }),
  refused: (op: HistoryOp, subject: Subject, result: Readonly<Record<string, unknown>>): void =>
    record({ type: 'fail', ...entry(op, subject), result }),
  /** Nobody can know. */
  lost: (op: HistoryOp, subject: Subject, fault: unknown): void =>
    record({ type: 'info', ...entry(op, subject), result: { fault: String(fault) } }),
};
