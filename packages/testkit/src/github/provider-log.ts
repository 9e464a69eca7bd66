/**
 * What the provider itself knows: every call it answered and whether it took effect, in order, never changed. It is
 * the third witness beside Postgres and the history (INV-EF1, INV-EF4): what we believe we did is compared with it.
 */
import { appendFileSync } from 'node:fs';

export interface ProviderEntry {
  readonly seq: number;
  readonly at: string;
  readonly method: string;
  readonly path: string;
  /** What the provider decided. */
  readonly status: number;
  /** What the caller was told: the status, or a fault instead of it. */
  readonly told: number | 'nothing' | 'reset';
  /** Set when a write took effect, e.g. `pull_request.created`. */
  readonly effect: string | null;
  /** The thing that was made or changed, e.g. `acme/api#7`. */
  readonly objectId: string | null;
  readonly body: unknown;
  readonly isAuthorised: boolean;
}

export class ProviderLog {
  readonly #entries: ProviderEntry[] = [];
  readonly #file: string | null;

  /** `file` gets the same as JSON lines, written before the caller hears of it. */
  constructor(file: string | null = null) {
    this.#file = file;
  }

  append(entry: Omit<ProviderEntry, 'seq'>): void {
    const numbered = { seq: this.#entries.length + 1, ...entry };
    this.#entries.push(numbered);
    if (this.#file !== null) appendFileSync(this.#file, `${JSON.stringify(numbered)}\n`);
  }

  get entries(): readonly ProviderEntry[] {
    return [...this.#entries];
  }

  /** The writes that took effect, all or of one kind. */
  effects(kind?: string): readonly ProviderEntry[] {
    return this.#entries.filter((it) => it.effect !== null && (kind === undefined || it.effect === kind));
  }
}
