/** Reads heads of repositories, few at a time: each is a process or a call over a network. */
import type { RepositoryRef, TargetRef } from '@headgate/domain';
import type { HeadReading, SourceReader } from '@headgate/sources';
import type { ReachedRepository } from './reached.js';

const AT_ONCE = 8;

export class Heads {
  readonly #reader: SourceReader;
  readonly #line: (() => void)[] = [];
  #reading = 0;

  constructor(reader: SourceReader) {
    this.#reader = reader;
  }

  /** Never throws; bounded in time by the reader once its turn has come. */
  async read(reached: ReachedRepository, repository: RepositoryRef, target: TargetRef): Promise<HeadReading> {
    if (this.#reading >= AT_ONCE) await new Promise<void>((resolve) => this.#line.push(resolve));
    else this.#reading += 1;
    try {
      return await this.#reader.readHead({ source: reached.source, repository, target });
    } finally {
      // The place is handed on, or given up.
      const next = this.#line.shift();
      if (next === undefined) this.#reading -= 1;
      else next();
    }
  }
}
