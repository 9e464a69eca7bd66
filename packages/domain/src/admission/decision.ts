/** Builds decisions and small writes, so that the rules read as rules. */
import type { ReceiptId, RunId, TaskId } from '../ids.js';
import type { Outcome } from '../outcome.js';
import type { ReasonCode } from '../reasons.js';
import { type SentenceFacts, sentence } from '../sentences.js';
import type { AdmissionWrite, Candidate, Decision } from './types.js';

export interface DecisionParts {
  readonly outcome: Outcome;
  readonly reasonCode: ReasonCode;
  readonly rule: string;
  readonly facts?: SentenceFacts;
  readonly runId?: RunId | null;
  readonly taskId?: TaskId | null;
  readonly generation?: number | null;
  readonly existing?: boolean;
  readonly retryAfter?: Date | null;
  /** What changes, besides the trigger's attachment to its task. */
  readonly writes?: readonly AdmissionWrite[];
  /** The run that the trigger led to or met, when the answer names none. */
  readonly metRunId?: RunId | null;
}

/** Every decision that has a task keeps its trigger on it. */
export function decide(candidate: Candidate, parts: DecisionParts): Decision {
  const runId = parts.runId ?? null;
  const taskId = parts.taskId ?? null;
  const attached =
    taskId === null ? [] : [attach(taskId, candidate.receiptId, runId ?? parts.metRunId ?? null)];
  return {
    candidate,
    outcome: parts.outcome,
    reasonCode: parts.reasonCode,
    message: sentence(parts.reasonCode, parts.facts),
    rule: parts.rule,
    runId,
    taskId,
    generation: parts.generation ?? null,
    existing: parts.existing ?? false,
    retryAfter: parts.retryAfter ?? null,
    writes: [...(parts.writes ?? []), ...attached],
  };
}

const attach = (taskId: TaskId, receiptId: ReceiptId, runId: RunId | null): AdmissionWrite => ({
  kind: 'attach',
  taskId,
  receiptId,
  runId,
});
