/**
 * Turns the flat history into calls: an invoke with its answer. A call without an answer, or answered `info`,
 * may or may not have taken effect; every check must accept both readings.
 */
import { HISTORY_OPS, type RecordedEntry } from '@headgate/telemetry';

export interface Call {
  readonly op: string;
  readonly proc: string;
  /** All threads of one process: a lease's keeper is another thread than its worker. */
  readonly process: string;
  readonly tenant: string | null;
  readonly run: string | null;
  readonly leaseId: string | null;
  readonly fencingToken: string | null;
  readonly key: string | null;
  readonly outcome: 'ok' | 'fail' | 'unknown';
  /** When it began; for an answer without an invoke, when it was answered. */
  readonly startNs: bigint;
  /** When the answer was there; null without one. */
  readonly endNs: bigint | null;
  readonly result: Readonly<Record<string, unknown>>;
  readonly entries: readonly RecordedEntry[];
}

const textOf = (value: string | number | null | undefined): string | null =>
  value === null || value === undefined ? null : String(value);

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `worker-12-t3` and `worker-12-t3-2` belong to `worker-12`. */
export const processOf = (proc: string): string => proc.replace(/-t\d+(-\d+)?$/, '');

function toCall(invoke: RecordedEntry | null, answer: RecordedEntry | null): Call | null {
  const last = answer ?? invoke;
  const first = invoke ?? answer;
  if (last === null || first === null) return null;
  const outcome =
    answer === null || answer.type === 'info' ? 'unknown' : answer.type === 'ok' ? 'ok' : 'fail';
  return {
    op: last.op,
    proc: last.proc,
    process: processOf(last.proc),
    tenant: textOf(last.tenant ?? first.tenant),
    run: textOf(last.run ?? first.run),
    leaseId: textOf(last.leaseId ?? first.leaseId),
    fencingToken: textOf(last.fencingToken ?? first.fencingToken),
    key: textOf(last.key ?? first.key),
    outcome,
    startNs: BigInt(first.monoNs),
    endNs: answer === null ? null : BigInt(answer.monoNs),
    result: isRecord(answer?.result) ? answer.result : isRecord(invoke?.result) ? invoke.result : {},
    entries: [invoke, answer].filter((entry) => entry !== null),
  };
}

const identityOf = (entry: RecordedEntry): string =>
  JSON.stringify([entry.proc, entry.op, entry.run ?? null, entry.leaseId ?? null, entry.key ?? null]);
/** The invoke of a whole batch names no run: many answers may belong to it. */
const batchIdentityOf = (entry: RecordedEntry): string =>
  JSON.stringify([entry.proc, entry.op, null, null, entry.key ?? null]);

const inOrderOfWriting = (history: readonly RecordedEntry[]): readonly RecordedEntry[] =>
  [...history].sort((a, b) => (a.proc < b.proc ? -1 : a.proc > b.proc ? 1 : a.seq - b.seq));

/** All calls, in the order of their answers' (or invokes') monotonic times. */
export function pairCalls(history: readonly RecordedEntry[]): readonly Call[] {
  const open = new Map<string, RecordedEntry[]>();
  const servedBatches = new Set<RecordedEntry>();
  const calls: (Call | null)[] = [];
  for (const entry of inOrderOfWriting(history)) {
    const waiting = open.get(identityOf(entry));
    if (entry.type === 'invoke') {
      if (waiting === undefined) open.set(identityOf(entry), [entry]);
      else waiting.push(entry);
      continue;
    }
    const own = waiting?.shift() ?? null;
    const batch = own === null ? (open.get(batchIdentityOf(entry))?.at(-1) ?? null) : null;
    if (batch !== null) servedBatches.add(batch);
    calls.push(toCall(own ?? batch, entry));
  }
  for (const left of open.values()) {
    for (const invoke of left) if (!servedBatches.has(invoke)) calls.push(toCall(invoke, null));
  }
  return calls
    .filter((call) => call !== null)
    .sort((a, b) => compareNs(a.endNs ?? a.startNs, b.endNs ?? b.startNs));
}

export interface ClaimBatch {
  readonly invoke: RecordedEntry;
  /** The most rows it may take. */
  readonly limit: number;
  readonly rows: number;
}

/** Each claim statement with the rows it took. */
export function claimBatches(history: readonly RecordedEntry[]): readonly ClaimBatch[] {
  const batches: { invoke: RecordedEntry; limit: number; rows: number }[] = [];
  const latest = new Map<string, { invoke: RecordedEntry; limit: number; rows: number }>();
  for (const entry of inOrderOfWriting(history)) {
    if (entry.op !== HISTORY_OPS.claim) continue;
    if (entry.type === 'invoke') {
      const asked = entry.result;
      const named = isRecord(asked) && typeof asked['limit'] === 'number' ? asked['limit'] : null;
      const limit = named ?? (Array.isArray(asked) ? asked.length : null);
      if (limit === null) continue;
      const batch = { invoke: entry, limit, rows: 0 };
      batches.push(batch);
      latest.set(batchIdentityOf(entry), batch);
    } else if (entry.type === 'ok') {
      const batch = latest.get(batchIdentityOf(entry));
      if (batch !== undefined) batch.rows += 1;
    }
  }
  return batches;
}

export const compareNs = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);

/** A field of a call's result as database time in milliseconds; null when it is not there. */
export function instantMs(call: Call, field: string): number | null {
  const value = call.result[field];
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return null;
  const parsed = Date.parse(value);
  return Number.isNaN(parsed) ? null : parsed;
}

export function resultText(call: Call, field: string): string | null {
  const value = call.result[field];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}
