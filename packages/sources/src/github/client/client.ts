/**
 * Reads of GitHub, for every part that asks it something: scan, freshness, permissions, deliveries.
 *
 * Bounded in time as a whole; few at a time; conditional, so that what has not changed is free; never past a rate
 * limit. Only reads are tried again. Never throws.
 */
import { dirname } from 'node:path';
import type { Clock, SourcePolicy } from '@headgate/domain';
import { z } from 'zod';
import { failureOf, noAnswer, type RefusedAnswer, refusedAnswerOf } from './answer.js';
import { within } from './bounded.js';
import { type GithubCredentials, readCredentials } from './credentials.js';
import { type EtagStore, MemoryEtags } from './etags.js';
import type { GithubFailure, GithubOutcome } from './outcome.js';
import { nextPageOf, repositoryPath, splitPath } from './paths.js';
import { type GithubRate, Rates, type ResponseHeaders } from './rates.js';
import { appScope, GithubSession, type Passport, sessionIdOf } from './session.js';

export type GithubSource = Pick<SourcePolicy, 'id' | 'app' | 'token' | 'baseUrl'>;

export interface GithubQuestion<T> {
  readonly source: GithubSource;
  /** `owner/name`: which installation asks. Null: the App as itself. */
  readonly repository: string | null;
  /** Below the API's base: `/repos/acme/api/pulls/7` (see `repositoryPath`), or the `next` of a page before. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly shape: z.ZodType<T>;
  /** Of the last answer that the caller has dealt with; a 304 is then `unchanged`. Not given: a copy may be kept here. */
  readonly etag?: string | null;
  readonly signal?: AbortSignal;
}

export interface GithubCall<T> {
  readonly source: GithubSource;
  readonly repository: string;
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Permissions of an App that the call needs, e.g. `issues`. */
  readonly rights: readonly string[];
  readonly shape: z.ZodType<T>;
  readonly signal?: AbortSignal;
}

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
/** After no token could be had. */
const RETRY_TOKEN_MS = 30_000;
/** Credentials in use at once are few; old ones go when they are replaced. */
const MOST_SESSIONS = 100;

export class GithubClient {
  readonly #options: GithubClientOptions;
  readonly #rates: Rates;
  readonly #copies: EtagStore;
  readonly #sessions = new Map<string, GithubSession>();

  constructor(options: GithubClientOptions) {
    this.#options = options;
    this.#rates = new Rates(options.clock);
    this.#copies = options.copies ?? new MemoryEtags();
  }

  /** What is known of the limits, by credential. */
  rates(): readonly GithubRate[] {
    return this.#rates.all();
  }

  read<T>(question: GithubQuestion<T>): Promise<GithubOutcome<T>> {
    const timeoutMs = this.#options.timeoutMs ?? TIMEOUT_MS;
    const late = (): GithubOutcome<T> => ({
      kind: 'unavailable',
      detail: question.signal?.aborted
        ? 'The question was called off.'
        : `GitHub gave no answer within ${timeoutMs} ms.`,
    });
    return within(timeoutMs, question.signal ?? null, late, (signal) => this.#read(question, signal));
  }

  /**
   * One call that writes, tried once: whoever calls has to look before calling again. `unavailable` means that it may
   * have happened; every other failure means that it did not.
   */
  write<T>(call: GithubCall<T>): Promise<GithubOutcome<T>> {
    const timeoutMs = this.#options.timeoutMs ?? TIMEOUT_MS;
    const late = (): GithubOutcome<T> => ({
      kind: 'unavailable',
      detail: `GitHub gave no answer within ${timeoutMs} ms.`,
    });
    return within(timeoutMs, call.signal ?? null, late, (signal) => this.#write(call, signal));
  }

  async #write<T>(call: GithubCall<T>, signal: AbortSignal): Promise<GithubOutcome<T>> {
    const session = await this.#sessionOf(call.source);
    if (typeof session === 'string') return { kind: 'denied', detail: session };
    let passport: Passport;
    try {
      passport = await session.writePassport(call.repository, call.rights);
    } catch (fault) {
      const answer = refusedAnswerOf(fault);
      const scope = session.credentials.kind;
      // Without a token nothing was sent.
      return answer === null
        ? {
            kind: 'limited',
            until: new Date(this.#options.clock.now().getTime() + RETRY_TOKEN_MS),
            detail: noAnswer(fault).detail,
          }
        : failureOf(answer, scope, this.#rates);
    }
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

  async #read<T>(question: GithubQuestion<T>, signal: AbortSignal): Promise<GithubOutcome<T>> {
    const session = await this.#sessionOf(question.source);
    if (typeof session === 'string') return { kind: 'denied', detail: session };
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

  async #sessionOf(source: GithubSource): Promise<GithubSession | string> {
    const { clock, env, configPath, timeoutMs, retryAfterMs } = this.#options;
    const reading = await readCredentials(source, { env, baseDir: dirname(configPath) });
    if (reading.kind === 'unreadable') return reading.detail;
    return this.#sessionWith(reading.credentials, {
      requestTimeoutMs: timeoutMs ?? TIMEOUT_MS,
      retryAfterMs: retryAfterMs ?? RETRY_AFTER_MS,
      nowMs: () => clock.monotonicMs(),
    });
  }

  #sessionWith(
    credentials: GithubCredentials,
    options: ConstructorParameters<typeof GithubSession>[1],
  ): GithubSession {
    const id = sessionIdOf(credentials);
    const known = this.#sessions.get(id);
    if (known !== undefined) return known;
    const session = new GithubSession(credentials, options);
    this.#sessions.set(id, session);
    const oldest = this.#sessions.keys().next();
    if (this.#sessions.size > MOST_SESSIONS && !oldest.done) this.#sessions.delete(oldest.value);
    return session;
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
