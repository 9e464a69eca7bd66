/** One read: conditional, never past a limit, and asked once more where a token was taken back. Never throws. */
import { z } from 'zod';
import { failureOf, noAnswer, type RefusedAnswer, refusedAnswerOf } from './answer.js';
import type { EtagStore } from './etags.js';
import type { GithubFailure, GithubOutcome } from './outcome.js';
import { nextPageOf, repositoryPath, splitPath } from './paths.js';
import type { GithubQuestion } from './questions.js';
import type { Rates, ResponseHeaders } from './rates.js';
import { appScope, type GithubSession, type Passport } from './session.js';

export class Reading {
  readonly #rates: Rates;
  readonly #copies: EtagStore;

  constructor(rates: Rates, copies: EtagStore) {
    this.#rates = rates;
    this.#copies = copies;
  }

  async read<T>(
    session: GithubSession,
    question: GithubQuestion<T>,
    signal: AbortSignal,
  ): Promise<GithubOutcome<T>> {
    const first = await this.#ask(session, question, signal, false);
    // A token can be taken back before its hour is over; a new one settles whether that was it.
    const isRefused =
      first.kind === 'denied' && / 401:/.test(first.detail) && session.credentials.kind === 'app';
    const answer = isRefused ? await this.#ask(session, question, signal, true) : first;
    return answer.kind === 'absent' ? this.#judgeAbsence(session, question, signal, answer) : answer;
  }

  /** 404 also means "not for you": a thing is absent only where its repository can be seen. */
  async #judgeAbsence<T>(
    session: GithubSession,
    { source, repository, path }: GithubQuestion<T>,
    signal: AbortSignal,
    absent: GithubOutcome<T>,
  ): Promise<GithubOutcome<T>> {
    const home = repository === null ? null : repositoryPath(repository);
    if (home === null || repository === null || path === home) return absent;
    const seen = await this.#ask(
      session,
      { source, repository, path: home, shape: z.unknown() },
      signal,
      false,
    );
    switch (seen.kind) {
      case 'found':
      case 'unchanged':
        return absent;
      case 'absent':
        return {
          kind: 'denied',
          detail: `The repository ${repository} cannot be seen with these credentials.`,
        };
      default:
        return seen;
    }
  }

  async #ask<T>(
    session: GithubSession,
    question: GithubQuestion<T>,
    signal: AbortSignal,
    isRefused: boolean,
  ): Promise<GithubOutcome<T>> {
    const passport = await this.#passportOf(session, question.repository, isRefused);
    if ('kind' in passport) return passport;
    const until = this.#rates.limitedUntil(passport.scope);
    if (until !== null) {
      return { kind: 'limited', until, detail: `Nothing is asked until ${until.toISOString()}.` };
    }
    const { path, query } = splitPath(question.path);
    const asked = { ...query, ...question.query };
    const key = `${passport.scope} ${session.credentials.baseUrl}${path} ${JSON.stringify(asked)}`;
    const isByCaller = question.etag !== undefined;
    const copy = isByCaller ? null : this.#copies.get(key);
    const etag = isByCaller ? question.etag : (copy?.etag ?? null);
    try {
      const { data, headers } = await session.reading.request(`GET ${path}`, {
        ...asked,
        headers: { ...session.headers(passport), ...(etag == null ? {} : { 'if-none-match': etag }) },
        request: { signal },
      });
      this.#rates.observe(passport.scope, headers);
      const found = foundIn(data, headers, question, session.credentials.baseUrl);
      if (found.kind === 'found' && found.etag !== null && !isByCaller) {
        this.#copies.set(key, { etag: found.etag, body: data, next: found.next });
      }
      return found;
    } catch (fault) {
      const answer = refusedAnswerOf(fault);
      if (answer === null) return noAnswer(fault);
      if (answer.status !== 304) return failureOf(answer, passport.scope, this.#rates);
      this.#rates.observe(passport.scope, answer.headers);
      return isByCaller ? { kind: 'unchanged' } : this.#fromCopy(key, answer, question);
    }
  }

  async #passportOf(
    session: GithubSession,
    repository: string | null,
    isRefused: boolean,
  ): Promise<Passport | GithubFailure> {
    // The requests that fetch tokens count against the App itself.
    const { credentials } = session;
    const scope = credentials.kind === 'app' ? appScope(credentials) : credentials.kind;
    const until = this.#rates.limitedUntil(scope);
    if (until !== null)
      return { kind: 'limited', until, detail: `No token is asked until ${until.toISOString()}.` };
    try {
      return await session.passport(repository, isRefused);
    } catch (fault) {
      const answer = refusedAnswerOf(fault);
      if (answer === null) return noAnswer(fault);
      const failure = failureOf(answer, scope, this.#rates);
      return failure.kind === 'absent'
        ? { kind: 'denied', detail: `The GitHub App is not installed on ${repository}.` }
        : failure;
    }
  }

  /** 304 to a copy of ours. One that cannot be read any more is forgotten: the next question brings it whole. */
  #fromCopy<T>(key: string, answer: RefusedAnswer, { shape }: GithubQuestion<T>): GithubOutcome<T> {
    const copy = this.#copies.get(key);
    const read = shape.safeParse(copy?.body);
    if (copy === null || !read.success) {
      this.#copies.forget(key);
      return { kind: 'unavailable', detail: `GitHub answered ${answer.status} and no copy is left.` };
    }
    return { kind: 'found', value: read.data, etag: copy.etag, next: copy.next, isCopy: true };
  }
}

function foundIn<T>(
  data: unknown,
  headers: ResponseHeaders,
  question: GithubQuestion<T>,
  baseUrl: string,
): GithubOutcome<T> {
  const read = question.shape.safeParse(data);
  if (!read.success) {
    const where = read.error.issues[0]?.path.join('.') ?? '';
    return { kind: 'unavailable', detail: `GitHub answered in a shape that is not known (${where}).` };
  }
  const { etag, link } = headers;
  return {
    kind: 'found',
    value: read.data,
    etag: typeof etag === 'string' ? etag : null,
    next: nextPageOf(link, baseUrl),
    isCopy: false,
  };
}
