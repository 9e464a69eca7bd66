/** One set of credentials at work: its tokens, and the way to GitHub with its limits. */
import { createHash } from 'node:crypto';
import { Octokit } from '@octokit/core';
import { retry } from '@octokit/plugin-retry';
import { throttling } from '@octokit/plugin-throttling';
import { AppTokens } from './app-tokens.js';
import { boundedFetch } from './bounded.js';
import type { GithubCredentials } from './credentials.js';

export interface Passport {
  /** For the header `authorization`; null: none. */
  readonly authorization: string | null;
  /** Whose rate limit it counts against. */
  readonly scope: string;
}

export interface SessionOptions {
  readonly requestTimeoutMs: number;
  /** Between two tries of one read: this, then four times this. */
  readonly retryAfterMs: number;
  readonly nowMs: () => number;
}

const RETRIES = 2;
const API_VERSION = '2022-11-28';
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const ReadingOctokit = Octokit.plugin(throttling, retry);

export class GithubSession {
  readonly credentials: GithubCredentials;
  /** For reads: few at a time, tried again on 5xx and lost connections, never on a limit (that is the caller's). */
  readonly reading: Octokit;
  /** For the few calls that are no reads: one try. */
  readonly calling: Octokit;
  readonly #id: string;
  readonly #tokens: AppTokens | null;

  constructor(credentials: GithubCredentials, options: SessionOptions) {
    this.credentials = credentials;
    this.#id = sessionIdOf(credentials);
    const shared = {
      baseUrl: credentials.baseUrl.replace(/\/+$/, ''),
      userAgent: 'headgate',
      log: silent,
      request: { fetch: boundedFetch(options.requestTimeoutMs) },
    };
    this.reading = new ReadingOctokit({
      ...shared,
      retry: {
        retries: RETRIES,
        retryAfterBaseValue: options.retryAfterMs,
        doNotRetry: [304, 400, 401, 403, 404, 409, 410, 422, 429, 451],
      },
      throttle: { id: this.#id, onRateLimit: () => false, onSecondaryRateLimit: () => false },
    });
    this.calling = new Octokit(shared);
    this.#tokens =
      credentials.kind === 'app' ? new AppTokens(credentials, this.calling, options.nowMs) : null;
  }

  /** Throws what the request for a token threw. `isRefused`: the last one was; a new one is wanted. */
  async passport(repository: string | null, isRefused: boolean): Promise<Passport> {
    const { credentials } = this;
    if (this.#tokens !== null && credentials.kind === 'app') {
      if (repository === null) {
        return { authorization: `bearer ${await this.#tokens.ofApp()}`, scope: appScope(credentials) };
      }
      const { token, scope } = await this.#tokens.ofRepository(repository, isRefused);
      return { authorization: `token ${token}`, scope };
    }
    return credentials.kind === 'token'
      ? { authorization: `token ${credentials.token}`, scope: `token ${this.#id.slice(0, 8)}` }
      : { authorization: null, scope: 'anonymous' };
  }

  /** As `passport`, with the right to write for one call. */
  async writePassport(repository: string, rights: readonly string[]): Promise<Passport> {
    if (this.#tokens === null) return this.passport(repository, false);
    const { token, scope } = await this.#tokens.toWrite(repository, rights);
    return { authorization: `token ${token}`, scope };
  }

  /** Headers of every question. */
  headers(passport: Passport): Record<string, string> {
    return {
      accept: 'application/vnd.github+json',
      'x-github-api-version': API_VERSION,
      ...(passport.authorization === null ? {} : { authorization: passport.authorization }),
    };
  }
}

export const appScope = ({ appId }: Extract<GithubCredentials, { kind: 'app' }>): string => `app ${appId}`;

/** Other credentials, another session; tells nothing about them. */
export const sessionIdOf = (credentials: GithubCredentials): string =>
  createHash('sha256').update(JSON.stringify(credentials), 'utf8').digest('hex');
