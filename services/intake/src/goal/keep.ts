/** What the steps of a goal share. */
import type { Admission, Undertaken } from '@headgate/admission';
import {
  type Ids,
  parseCadence,
  type ReasonCode,
  type RunId,
  type RunStatus,
  type SignalAnswer,
} from '@headgate/domain';
import type { ActivePolicy, GoalRow, Pool } from '@headgate/store';
import type { Heads } from '../repositories/heads.js';

export interface KeepOptions {
  readonly pool: Pool;
  readonly admission: Admission;
  readonly heads: Heads;
  readonly active: ActivePolicy;
  readonly ids: Ids;
  /** To be called once, after the COMMIT. */
  readonly committed: (undertaken: Undertaken | null) => void;
}

export type Stepped =
  /** Another keeper has it, or it has changed. */
  | { readonly kind: 'passed' }
  | { readonly kind: 'observing' | 'working'; readonly runId: RunId }
  | { readonly kind: 'agent-ended'; readonly status: RunStatus }
  | { readonly kind: 'done' | 'given-up' | 'unknown' | 'paused' }
  | { readonly kind: 'refused'; readonly reasonCode: ReasonCode | null };

/** The work was put off (a full queue): nothing of the step is written, and it is tried again. */
export class NotTakenError extends Error {
  override readonly name = 'NotTakenError';
  constructor(answer: SignalAnswer) {
    super(`the work of a goal was put off: ${answer.reasonCode}`);
  }
}

/** By the cadence, and not after the deadline. */
export function nextLookAt({ spec, startedAt, now }: GoalRow): Date {
  const parsed = parseCadence(spec.cadence, spec.timezone, startedAt);
  const next = parsed.ok ? parsed.cadence.next(now.getTime()) : null;
  const deadlineMs = startedAt.getTime() + spec.stop.deadlineMs;
  return new Date(Math.min(next ?? deadlineMs, deadlineMs));
}
