/** The primary rate limit as GitHub shows it in its headers. It refuses nothing by itself: that is a planned fault. */
const LIMIT = 5_000;
const WINDOW_MS = 3_600_000;

export class RateBook {
  #used = 0;
  readonly #resetAt = new Date(Date.now() + WINDOW_MS);

  /** Answers that counted. */
  get used(): number {
    return this.#used;
  }

  spend(): void {
    this.#used += 1;
  }

  headers(): Record<string, string> {
    return headersOf(LIMIT - this.#used, this.#resetAt);
  }

  usedUp(resetAt: Date): Record<string, string> {
    return headersOf(0, resetAt);
  }
}

const headersOf = (remaining: number, resetAt: Date): Record<string, string> => ({
  'X-RateLimit-Limit': String(LIMIT),
  'X-RateLimit-Remaining': String(Math.max(0, remaining)),
  'X-RateLimit-Reset': String(Math.ceil(resetAt.getTime() / 1000)),
});
