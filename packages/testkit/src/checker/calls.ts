/**
 * Turns the flat history into calls: an invoke with its answer. A call without an answer, or answered `info`,
 * may or may not have taken effect; every check must accept both readings.
 */
import type { RecordedEntry } from '@headgate/telemetry';

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

/** All calls, in the order of their answers' (or invokes') monotonic times. */
export function pairCalls(history: readonly RecordedEntry[]): readonly Call[] {
  const ordered = [...history].sort((a, b) => (a.proc < b.proc ? -1 : a.proc > b.proc ? 1 : a.seq - b.seq));
  const open = new Map<string, RecordedEntry[]>();
  const calls: (Call | null)[] = [];
  for (const entry of ordered) {
    const identity = JSON.stringify([entry.proc, entry.op, entry.run, entry.leaseId, entry.key]);
    if (entry.type === 'invoke') {
      const waiting = open.get(identity);
      if (waiting === undefined) open.set(identity, [entry]);
      else waiting.push(entry);
    } else calls.push(toCall(open.get(identity)?.shift() ?? null, entry));
  }
  for (const left of open.values()) for (const invoke of left) calls.push(toCall(invoke, null));
  return calls
    .filter((call) => call !== null)
    .sort((a, b) => compareNs(a.endNs ?? a.startNs, b.endNs ?? b.startNs));
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

export function resultNumber(call: Call, field: string): number | null {
  const value = call.result[field];
  return typeof value === 'number' ? value : null;
}
