/** Sessions by credentials: read anew for each question, so that a changed file or variable counts at once. */
import { dirname } from 'node:path';
import { readCredentials } from './credentials.js';
import type { GithubSource } from './questions.js';
import { GithubSession, type SessionOptions, sessionIdOf } from './session.js';

export interface SessionsOptions extends SessionOptions {
  /** Where `${NAME}` is read from, and the file whose folder `file:` starts in. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly configPath: string;
}

/** Credentials in use at once are few; old ones go when they are replaced. */
const MOST_SESSIONS = 100;

export class Sessions {
  readonly #options: SessionsOptions;
  readonly #known = new Map<string, GithubSession>();

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** Or why the credentials cannot be read. */
  async of(source: GithubSource): Promise<GithubSession | string> {
    const { env, configPath } = this.#options;
    const reading = await readCredentials(source, { env, baseDir: dirname(configPath) });
    if (reading.kind === 'unreadable') return reading.detail;
    const id = sessionIdOf(reading.credentials);
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const session = new GithubSession(reading.credentials, this.#options);
    this.#known.set(id, session);
    const oldest = this.#known.keys().next();
    if (this.#known.size > MOST_SESSIONS && !oldest.done) this.#known.delete(oldest.value);
    return session;
  }
}
