/** What GitHub said about its limits, per credential, and until when nothing is asked. */
import type { Clock } from '@headgate/domain';

export interface GithubRate {
  /** Whose limit it is: an installation, a token. No secret. */
  readonly scope: string;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly resetAt: Date | null;
  /** Nothing is asked before this instant; null: asking is allowed. */
  readonly limitedUntil: Date | null;
}

export type ResponseHeaders = Readonly<Record<string, string | number | undefined>>;

/** GitHub's rule when it says neither when to come back nor when the limit is reset. */
const SHORTEST_WAIT_MS = 60_000;
/** A wait that no GitHub would ask for is a mistake of a proxy. */
const LONGEST_WAIT_MS = 3_600_000;

export class Rates {
  readonly #clock: Clock;
  readonly #known = new Map<string, GithubRate>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  all(): readonly GithubRate[] {
    return [...this.#known.values()].map((rate) => ({
      ...rate,
      limitedUntil: this.limitedUntil(rate.scope),
    }));
  }

  limitedUntil(scope: string): Date | null {
    const until = this.#known.get(scope)?.limitedUntil ?? null;
    return until !== null && until.getTime() > this.#clock.now().getTime() ? until : null;
  }

  observe(scope: string, headers: ResponseHeaders): void {
    const before = this.#known.get(scope);
    const resetSeconds = numberIn(headers, 'x-ratelimit-reset');
    this.#known.set(scope, {
      scope,
      limit: numberIn(headers, 'x-ratelimit-limit') ?? before?.limit ?? null,
      remaining: numberIn(headers, 'x-ratelimit-remaining') ?? before?.remaining ?? null,
      resetAt: resetSeconds === null ? (before?.resetAt ?? null) : new Date(resetSeconds * 1000),
      limitedUntil: before?.limitedUntil ?? null,
    });
  }

  /** Refused for the rate. `Retry-After`, else the reset of a used-up limit, else a minute. */
  limited(scope: string, headers: ResponseHeaders): Date {
    this.observe(scope, headers);
    const nowMs = this.#clock.now().getTime();
    const waitMs = Math.min(LONGEST_WAIT_MS, Math.max(0, this.#askedWaitMs(headers, nowMs)));
    const until = new Date(nowMs + waitMs);
    const rate = this.#known.get(scope);
    if (rate !== undefined) this.#known.set(scope, { ...rate, limitedUntil: until });
    return until;
  }

  #askedWaitMs(headers: ResponseHeaders, nowMs: number): number {
    const retryAfter = headers['retry-after'];
    const seconds = numberIn(headers, 'retry-after');
    if (seconds !== null) return seconds * 1000;
    const at = typeof retryAfter === 'string' ? Date.parse(retryAfter) : Number.NaN;
    if (Number.isFinite(at)) return at - nowMs;
    const reset = numberIn(headers, 'x-ratelimit-reset');
    return numberIn(headers, 'x-ratelimit-remaining') === 0 && reset !== null
      ? reset * 1000 - nowMs
      : SHORTEST_WAIT_MS;
  }
}

function numberIn(headers: ResponseHeaders, name: string): number | null {
  const value = headers[name];
  if (value === undefined || value === '') return null;
  const number = Number(value);
  return Number.isFinite(number) && number >= 0 ? number : null;
}

/** 403 and 429 have many meanings; these are the ones that pass with time. */
export function isRateAnswer(status: number, headers: ResponseHeaders, message: string): boolean {
  if (status === 429) return true;
  if (status !== 403) return false;
  return (
    headers['retry-after'] !== undefined ||
    numberIn(headers, 'x-ratelimit-remaining') === 0 ||
    /rate limit/i.test(message)
  );
}
