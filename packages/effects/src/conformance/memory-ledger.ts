/**
 * The operation ledger in memory, with the lease it is fenced by: for tests of what drives a ledger. It passes
 * the same conformance suite as the one over Postgres.
 */
import {
  type AbsentResult,
  type AttemptResult,
  type IntendResult,
  isLegalOperationStep,
  isOperationSettled,
  isOperationUnknown,
  type LeaseId,
  type Operation,
  type OperationData,
  type OperationFence,
  type OperationId,
  type OperationKind,
  type OperationLedger,
  type OperationState,
  type ReportResult,
} from '@headgate/domain';

interface Row extends Operation {
  readonly unknownSinceMs: number;
}

export class MemoryLedger implements OperationLedger {
  readonly #rows = new Map<string, Row>();
  readonly #nowMs: () => number;
  #lease: OperationFence | null;
  #cancelled = false;
  #nextToken = 1;

  constructor(fence: OperationFence, nowMs: () => number = () => performance.now()) {
    this.#lease = fence;
    this.#nowMs = nowMs;
    this.#nextToken = Number(fence.fencingToken) + 1;
  }

  /** The lease runs out and another claimant takes the run. Gives its fence; the old one is worth nothing. */
  takeOver(): OperationFence {
    const previous = this.#lease;
    if (previous === null) throw new Error('there is no lease to take over');
    const token = String(this.#nextToken++);
    this.#lease = { runId: previous.runId, fencingToken: token, leaseId: `lease-${token}` as LeaseId };
    return this.#lease;
  }

  expireLease(): void {
    this.#lease = null;
  }

  /** A cancel of the run is committed. */
  cancelRun(): void {
    this.#cancelled = true;
  }

  async intend(input: {
    readonly key: string;
    readonly kind: OperationKind;
    readonly fence: OperationFence;
    readonly intent: OperationData;
  }): Promise<IntendResult> {
    const refusal = this.#refusal(input.fence);
    if (refusal !== null) return refusal;
    const existing = this.#rows.get(input.key);
    if (existing !== undefined) return { kind: 'existing', operation: existing };
    const row: Row = {
      id: `operation-${this.#rows.size + 1}` as OperationId,
      key: input.key,
      kind: input.kind,
      state: 'intended',
      runId: input.fence.runId,
      intent: input.intent,
      tries: 0,
      evidence: null,
      externalId: null,
      url: null,
      detail: null,
      unknownSinceMs: 0,
    };
    this.#rows.set(input.key, row);
    return { kind: 'intended', operation: row };
  }

  async attempt(input: { readonly key: string; readonly fence: OperationFence }): Promise<AttemptResult> {
    const refusal = this.#refusal(input.fence);
    if (refusal !== null) return refusal;
    const row = this.#row(input.key);
    if (isOperationSettled(row.state)) return { kind: 'not-needed', operation: row };
    if (isOperationUnknown(row.state)) return { kind: 'unknown', operation: row };
    const operation = this.#write(row, {
      state: 'attempted',
      tries: row.tries + 1,
      unknownSinceMs: this.#nowMs(),
    });
    return { kind: 'go', operation };
  }

  async confirm(input: {
    readonly key: string;
    readonly evidence: OperationData;
    readonly externalId: string | null;
    readonly url: string | null;
  }): Promise<ReportResult> {
    const { key, evidence, externalId, url } = input;
    return this.#step(this.#row(key), 'confirmed', { evidence, externalId, url });
  }

  async ambiguous(input: Report): Promise<ReportResult> {
    return this.#report(input, 'ambiguous');
  }

  async absent(input: {
    readonly key: string;
    readonly tries: number;
    readonly evidence: OperationData;
    readonly settleMs: number;
  }): Promise<AbsentResult> {
    const row = this.#row(input.key);
    if (row.state !== 'ambiguous' || row.tries !== input.tries) return { kind: 'unchanged', operation: row };
    const remainingMs = row.unknownSinceMs + input.settleMs - this.#nowMs();
    if (remainingMs > 0) return { kind: 'too-early', operation: row, remainingMs };
    return this.#step(row, 'absent', { evidence: input.evidence });
  }

  async conflicted(input: Report): Promise<ReportResult> {
    return this.#report(input, 'conflicted');
  }

  async abandoned(input: Report): Promise<ReportResult> {
    return this.#report(input, 'abandoned');
  }

  async find(key: string): Promise<Operation | null> {
    return this.#rows.get(key) ?? null;
  }

  #refusal(fence: OperationFence): { readonly kind: 'fence-lost' | 'cancelled' } | null {
    const lease = this.#lease;
    const isCurrent =
      lease !== null &&
      lease.runId === fence.runId &&
      lease.fencingToken === fence.fencingToken &&
      lease.leaseId === fence.leaseId;
    if (!isCurrent) return { kind: 'fence-lost' };
    return this.#cancelled ? { kind: 'cancelled' } : null;
  }

  #report(input: Report, state: OperationState): ReportResult {
    const row = this.#row(input.key);
    if (row.tries !== input.tries) return { kind: 'unchanged', operation: row };
    return this.#step(row, state, { detail: input.detail, unknownSinceMs: this.#nowMs() });
  }

  #step(row: Row, state: OperationState, changes: Partial<Row>): ReportResult {
    if (!isLegalOperationStep(row.state, state)) return { kind: 'unchanged', operation: row };
    return { kind: 'written', operation: this.#write(row, { ...changes, state }) };
  }

  #write(row: Row, changes: Partial<Row>): Row {
    const next = { ...row, ...changes };
    this.#rows.set(row.key, next);
    return next;
  }

  #row(key: string): Row {
    const row = this.#rows.get(key);
    if (row === undefined) throw new Error(`no operation has the key ${key}`);
    return row;
  }
}

interface Report {
  readonly key: string;
  readonly tries: number;
  readonly detail: string;
}
