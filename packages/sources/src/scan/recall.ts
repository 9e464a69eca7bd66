/** What would have been known at an earlier time, as a source's history tells it. */
import type { FactMemory, Look } from './look.js';

export interface Recalled {
  readonly kind: 'recalled';
  readonly memory: ReadonlyMap<string, FactMemory>;
  /** When commits were made that branches stand at now. */
  readonly commitDates: ReadonlyMap<string, Date>;
  /** What could not be read, and why; null: all was. */
  readonly detail: string | null;
  /** The rate limit was met on the way: not before this. */
  readonly until: Date | null;
}

export type Recall = Recalled | Extract<Look, { kind: 'failed' }>;

/** As it was long ago: nothing of it moved lately. */
export const stoodAt = (version: string): FactMemory => ({ version, changedAt: new Date(0) });
