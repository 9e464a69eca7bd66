/** Copies of answers with their etags: a question asked again costs nothing while nothing has changed. */
export interface EtagCopy {
  readonly etag: string;
  readonly body: unknown;
  readonly next: string | null;
}

/** Where copies are kept. One that is lost costs one request, never an answer. */
export interface EtagStore {
  get(key: string): EtagCopy | null;
  set(key: string, copy: EtagCopy): void;
  forget(key: string): void;
}

const MOST_COPIES = 500;

/** In memory, the least recently used one forgotten first. */
export class MemoryEtags implements EtagStore {
  readonly #copies = new Map<string, EtagCopy>();
  readonly #most: number;

  constructor(most: number = MOST_COPIES) {
    this.#most = most;
  }

  get(key: string): EtagCopy | null {
    const copy = this.#copies.get(key);
    if (copy === undefined) return null;
    this.#copies.delete(key);
    this.#copies.set(key, copy);
    return copy;
  }

  set(key: string, copy: EtagCopy): void {
    this.#copies.delete(key);
    this.#copies.set(key, copy);
    const oldest = this.#copies.keys().next();
    if (this.#copies.size > this.#most && !oldest.done) this.#copies.delete(oldest.value);
  }

  forget(key: string): void {
    this.#copies.delete(key);
  }
}
