/**
 * Reads of GitHub, for every part that asks it something: scan, freshness, permissions, deliveries.
 *
 * Bounded in time as a whole; few at a time; conditional, so that what has not changed is free; never past a rate
 * limit. Only reads are tried again. Never throws.
 */
import type { Clock } from '@headgate/domain';
import { within } from './bounded.js';
import { type EtagStore, MemoryEtags } from './etags.js';
import type { GithubOutcome } from './outcome.js';
import type { GithubCall, GithubQuestion, GithubSource } from './questions.js';
import { type GithubRate, Rates } from './rates.js';
import { Reading } from './reading.js';
import type { GithubSession } from './session.js';
import { Sessions } from './sessions.js';
import { Writing } from './writing.js';

export interface GithubClientOptions {
  readonly clock: Clock;
  /** Where `${NAME}` is read from, and the file whose folder `file:` starts in. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly configPath: string;
  /** Of one question with all its tries; 10 s by default. */
  readonly timeoutMs?: number;
  readonly retryAfterMs?: number;
  readonly copies?: EtagStore;
}

const TIMEOUT_MS = 10_000;
const RETRY_AFTER_MS = 250;

export class GithubClient {
  readonly #timeoutMs: number;
  readonly #rates: Rates;
  readonly #sessions: Sessions;
  readonly #reading: Reading;
  readonly #writing: Writing;

  constructor({ clock, env, configPath, timeoutMs, retryAfterMs, copies }: GithubClientOptions) {
    this.#timeoutMs = timeoutMs ?? TIMEOUT_MS;
    this.#rates = new Rates(clock);
    this.#reading = new Reading(this.#rates, copies ?? new MemoryEtags());
    this.#writing = new Writing(clock, this.#rates);
    this.#sessions = new Sessions({
      ...{ env, configPath },
      requestTimeoutMs: this.#timeoutMs,
      retryAfterMs: retryAfterMs ?? RETRY_AFTER_MS,
      nowMs: () => clock.monotonicMs(),
    });
  }

  /** What is known of the limits, by credential. */
  rates(): readonly GithubRate[] {
    return this.#rates.all();
  }

  read<T>(question: GithubQuestion<T>): Promise<GithubOutcome<T>> {
    return this.#bounded(question, (session, signal) => this.#reading.read(session, question, signal));
  }

  /**
   * One call that writes, tried once: whoever calls has to look before calling again. `unavailable` means that it may
   * have happened; every other failure means that it did not.
   */
  write<T>(call: GithubCall<T>): Promise<GithubOutcome<T>> {
    return this.#bounded(call, (session, signal) => this.#writing.write(session, call, signal));
  }

  #bounded<T>(
    { source, signal: outer }: { readonly source: GithubSource; readonly signal?: AbortSignal },
    ask: (session: GithubSession, signal: AbortSignal) => Promise<GithubOutcome<T>>,
  ): Promise<GithubOutcome<T>> {
    const late = (): GithubOutcome<T> => ({
      kind: 'unavailable',
      detail: outer?.aborted
        ? 'The question was called off.'
        : `GitHub gave no answer within ${this.#timeoutMs} ms.`,
    });
    return within(this.#timeoutMs, outer ?? null, late, async (signal) => {
      const session = await this.#sessions.of(source);
      return typeof session === 'string' ? { kind: 'denied', detail: session } : ask(session, signal);
    });
  }
}
