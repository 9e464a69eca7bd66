/** One thing that `headgate doctor` looked at. */
export interface Check {
  /** Stable, for scripts: `node`, `postgres`, `redis` … */
  readonly id: string;
  readonly state: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly message: string;
  /** The one thing to do; null when there is none. */
  readonly fix: string | null;
}

export const ok = (id: string, message: string): Check => ({ id, state: 'ok', message, fix: null });
export const warning = (id: string, message: string, fix: string): Check => ({
  id,
  state: 'warning',
  message,
  fix,
});
export const failed = (id: string, message: string, fix: string): Check => ({
  id,
  state: 'failed',
  message,
  fix,
});
export const skipped = (id: string, message: string, fix: string | null = null): Check => ({
  id,
  state: 'skipped',
  message,
  fix,
});
