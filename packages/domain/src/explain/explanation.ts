import type { ReceiptId, RunId } from '../ids.js';
import type { Outcome } from '../outcome.js';

export type ExplanationKind =
  | 'delivery'
  | 'receipt'
  | 'workKey'
  | 'task'
  | 'run'
  | 'schedule'
  | 'goal'
  | 'url'
  | 'sha'
  | 'none';

/** One thing that happened, with the rule that decided it. */
export interface Step {
  readonly at: Date;
  readonly type: string;
  readonly outcome: Outcome | null;
  readonly reasonCode: string | null;
  readonly message: string;
  readonly rule: string | null;
  readonly actor: string | null;
  readonly receiptId: ReceiptId | null;
  readonly runId: RunId | null;
  /** How many equal ones it stands for. */
  readonly count: number;
  /** Of the last of them. */
  readonly lastAt: Date;
}

export interface Candidate {
  readonly kind: string;
  readonly id: string;
  readonly label: string;
}

/** The answer to *why*, but for what a waiting run waits for, which is read from the rows of now. */
export interface Explained {
  readonly kind: ExplanationKind;
  /** One or a few sentences: the answer, before the evidence. */
  readonly summary: string;
  /** Oldest first; cause before effect. */
  readonly steps: readonly Step[];
  readonly candidates: readonly Candidate[];
}
