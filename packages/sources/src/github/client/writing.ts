/** One call that changes something: with a token of its own, tried once. Never throws. */
import type { Clock } from '@headgate/domain';
import { failureOf, noAnswer, refusedAnswerOf } from './answer.js';
import type { GithubFailure, GithubOutcome } from './outcome.js';
import { splitPath } from './paths.js';
import type { GithubCall } from './questions.js';
import type { Rates } from './rates.js';
import type { GithubSession, Passport } from './session.js';

/** After no token could be had. */
const RETRY_TOKEN_MS = 30_000;

export class Writing {
  readonly #clock: Clock;
  readonly #rates: Rates;

  constructor(clock: Clock, rates: Rates) {
    this.#clock = clock;
    this.#rates = rates;
  }

  async write<T>(
    session: GithubSession,
    call: GithubCall<T>,
    signal: AbortSignal,
  ): Promise<GithubOutcome<T>> {
    const passport = await this.#passportOf(session, call);
    if ('kind' in passport) return passport;
    const until = this.#rates.limitedUntil(passport.scope);
    if (until !== null) {
      return { kind: 'limited', until, detail: `Nothing is asked until ${until.toISOString()}.` };
    }
    try {
      const { data, headers } = await session.calling.request(`${call.method} ${splitPath(call.path).path}`, {
        ...call.body,
        headers: session.headers(passport),
        request: { signal },
      });
      this.#rates.observe(passport.scope, headers);
      const read = call.shape.safeParse(data);
      return read.success
        ? { kind: 'found', value: read.data, etag: null, next: null, isCopy: false }
        : { kind: 'unavailable', detail: 'GitHub answered in a shape that is not known.' };
    } catch (fault) {
      const answer = refusedAnswerOf(fault);
      return answer === null ? noAnswer(fault) : failureOf(answer, passport.scope, this.#rates);
    }
  }

  async #passportOf(
    session: GithubSession,
    { repository, rights }: Pick<GithubCall<unknown>, 'repository' | 'rights'>,
  ): Promise<Passport | GithubFailure> {
    try {
      return repository === null
        ? await session.passport(null, false)
        : await session.writePassport(repository, rights);
    } catch (fault) {
      const answer = refusedAnswerOf(fault);
      if (answer !== null) return failureOf(answer, session.credentials.kind, this.#rates);
      // Without a token nothing was sent.
      const until = new Date(this.#clock.now().getTime() + RETRY_TOKEN_MS);
      return { kind: 'limited', until, detail: noAnswer(fault).detail };
    }
  }
}
