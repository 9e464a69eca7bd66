import type { ExplanationKind, Outcome, ReasonCode } from '@headgate/domain';
import type { Waiting } from './run.js';
import type { Instant } from './shared.js';

export interface ExplanationStep {
  readonly at: Instant;
  /** `receipt.decision`, `receipt.closing`, `run.claimed`, `attempt.lost`, `operation.confirmed`, `schedule.missed`, `goal.observed` … */
  readonly type: string;
  /** Of a receipt; null for what happened to a run. */
  readonly outcome: Outcome | null;
  readonly reasonCode: ReasonCode | null;
  readonly message: string;
  readonly rule: string | null;
  readonly actor: string | null;
  readonly receiptId: string | null;
  readonly runId: string | null;
  /** How many equal ones this step stands for: duplicates that differ in nothing but their time are one step. */
  readonly count: number;
  /** Of the last of them. */
  readonly lastAt: Instant;
}

/** Something else that the reference may mean, or, when nothing is known, what to check. */
export interface ExplanationCandidate {
  readonly kind: string;
  readonly id: string;
  readonly label: string;
}

/** The causal chain behind anything: a delivery, a key, a run, a schedule, a goal, a URL, a commit. */
export interface Explanation {
  readonly ref: string;
  readonly kind: ExplanationKind;
  readonly summary: string;
  /** Oldest first; cause before effect. */
  readonly steps: ExplanationStep[];
  readonly waiting: Waiting | null;
  readonly candidates: ExplanationCandidate[];
}
