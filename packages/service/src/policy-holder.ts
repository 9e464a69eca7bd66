/**
 * The active policy as this process knows it. The head lives in Postgres, so that all services agree; a process
 * looks every few seconds and whenever a claim says that the head has moved on.
 */
import { type ActivePolicy, type Pool, policies } from '@headgate/store';

export class NoPolicyError extends Error {
  constructor() {
    super('no policy is active: run "headgate up" with a headgate.yaml first');
    this.name = 'NoPolicyError';
  }
}

export class PolicyHolder {
  readonly #pool: Pool;
  readonly #listeners = new Set<(policy: ActivePolicy) => void>();
  #active: ActivePolicy | null = null;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Throws NoPolicyError before the first activation. */
  current(): ActivePolicy {
    if (this.#active === null) throw new NoPolicyError();
    return this.#active;
  }

  currentOrNull(): ActivePolicy | null {
    return this.#active;
  }

  /** Reads the head; tells listeners when it is another version. */
  async refresh(): Promise<ActivePolicy | null> {
    const version = await this.#pool.use((c) => policies.headVersion(c));
    if (version === null || version === this.#active?.version) return this.#active;
    const active = await this.#pool.use((c) => policies.active(c));
    if (active !== null && active.version !== this.#active?.version) {
      this.#active = active;
      for (const listener of this.#listeners) listener(active);
    }
    return this.#active;
  }

  onChange(listener: (policy: ActivePolicy) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
