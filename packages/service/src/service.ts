import type { Router } from 'express';

/**
 * One start/stop contract for every deployable (style.md). All four are idempotent and may be called in any
 * order from any state; `stop` is bounded in time whatever is dead.
 */
export interface Service {
  readonly name: string;
  /** What it serves over HTTP; null for a service without routes of its own. */
  readonly router: Router | null;
  /** Begins work; returns once its loops run and its routes answer. */
  start(): Promise<void>;
  /** Resolves when the service can do its job (database reached, policy loaded). */
  ready(): Promise<void>;
  /** Takes no new work, finishes what it holds within its grace, hands the rest back. */
  drain(): Promise<void>;
  /** Ends everything. After it the process may exit. */
  stop(): Promise<void>;
}
