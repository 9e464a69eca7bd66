/** One repository of a source, asked for things as they are now. */
import type { SourcePolicy } from '@headgate/domain';
import { z } from 'zod';
import { type GithubOutcome, repositoryPath } from '../../github/client/index.js';
import type { Item, Payload } from '../../github/fields.js';
import type { GithubAsker } from '../ask-once.js';
import { type NotRead, notRead } from '../readout.js';

const item = z.record(z.string(), z.unknown());
const items = z.array(item);

export type Found = { readonly kind: 'found'; readonly value: Item };

/** Pages of one list at most. */
const MOST_PAGES = 10;

export class EventSource {
  readonly #client: GithubAsker;
  readonly #source: SourcePolicy;
  readonly fullName: string;

  constructor(client: GithubAsker, source: SourcePolicy, fullName: string) {
    this.#client = client;
    this.#source = source;
    this.fullName = fullName;
  }

  /** The thing behind this path of the repository; without parts the repository itself. */
  async one(...parts: readonly string[]): Promise<Found | NotRead> {
    const answer = await this.#client.read({ ...this.#about(parts), shape: item });
    if (answer.kind === 'found') return { kind: 'found', value: answer.value };
    if (answer.kind === 'absent') {
      return { kind: 'closed', detail: `There is no ${parts.join('/')} in ${this.fullName}.` };
    }
    return notRead(answer);
  }

  /** A list, oldest first, as far as it is read. */
  async list(...parts: readonly string[]): Promise<readonly Item[] | NotRead> {
    const found: Item[] = [];
    const about = this.#about(parts);
    let path: string | null = about.path;
    for (let page = 0; path !== null && page < MOST_PAGES; page += 1) {
      const query = page === 0 ? { query: { per_page: 100 } } : {};
      const answer: GithubOutcome<readonly Item[]> = await this.#client.read({
        ...{ ...about, path, shape: items },
        ...query,
      });
      if (answer.kind !== 'found') return notRead(answer);
      found.push(...answer.value);
      path = answer.next;
    }
    return found;
  }

  #about(parts: readonly string[]) {
    const repository = this.fullName;
    return { source: this.#source, repository, path: repositoryPath(repository, ...parts) };
  }
}

/** What a delivery points at. Its payload is used for numbers and names to ask with, and for nothing else. */
export interface Told {
  readonly action: string | null;
  readonly payload: Payload;
}

/** The payload as the source would write it now, without the repository; or why there is none. */
export type EventReading = { readonly kind: 'payload'; readonly payload: Item } | NotRead;
export type EventReader = (source: EventSource, told: Told) => Promise<EventReading>;

export const payloadOf = (payload: Item): EventReading => ({ kind: 'payload', payload });
export const otherwise = (detail: string): EventReading => ({ kind: 'otherwise', detail });
export const unresolved = (detail: string): EventReading => ({ kind: 'unresolved', detail });
