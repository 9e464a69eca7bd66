/**
 * A look at one repository of a source: what changed since the last one that was dealt with.
 *
 * It only reads. Nothing follows from what is *not* seen: a list can be cut, empty or old, so a fact that is missing
 * stays known, and nothing is cancelled or removed for it. What it learned is written by whoever asked, together with
 * what it led to; until then the next look sees the same again.
 */
import type { RepositoryPolicy, Signal, SourcePolicy } from '@headgate/domain';

/** Of an answer that was dealt with: a 304 to its etag means that there is nothing new in it. */
export interface AnswerValidator {
  readonly etag: string;
  readonly next: string | null;
}

export interface FactMemory {
  readonly version: string;
  readonly changedAt: Date;
}

export interface LookRequest {
  readonly source: SourcePolicy;
  readonly repository: RepositoryPolicy;
  /** Event types that somebody listens to: `github.check_run.completed`. */
  readonly listened: readonly string[];
  readonly memory: ReadonlyMap<string, FactMemory>;
  readonly validators: Readonly<Record<string, AnswerValidator>>;
  /** When it was last seen whole. Null: never, so all there is was there before. */
  readonly since: Date | null;
  /** The memory was put together from the source's history: what is not in it was not there. Absent: it was kept. */
  readonly isRecalled?: boolean;
  readonly now: Date;
  readonly signal: AbortSignal;
}

/** Something that is not as it was. Without signals it is only noted. */
export interface Change {
  readonly fact: string;
  readonly version: string;
  readonly signals: readonly Signal[];
}

export type Look =
  | {
      readonly kind: 'looked';
      readonly changes: readonly Change[];
      /** Facts that stand as they were. */
      readonly standing: readonly string[];
      readonly validators: Readonly<Record<string, AnswerValidator>>;
      /** Every question that may be asked was answered. */
      readonly isWhole: boolean;
      /** The rate limit was met on the way: not before this. */
      readonly until: Date | null;
      /** What was not seen, and why; null when it was whole. */
      readonly detail: string | null;
    }
  | {
      readonly kind: 'failed';
      readonly outcome: 'denied' | 'limited' | 'unavailable';
      readonly detail: string;
      readonly until: Date | null;
    };

export const listensTo = (listened: readonly string[], event: string): boolean =>
  listened.some((type) => type === event || type.startsWith(`${event}.`));
