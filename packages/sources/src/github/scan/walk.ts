/**
 * The questions of one look: conditional, page after page, and what came of each kept apart, so that an answer that is
 * missing spoils nothing of the others.
 */
import { z } from 'zod';
import type { GithubAsker } from '../../authority/ask-once.js';
import type { AnswerValidator, Change, LookRequest } from '../../scan/look.js';
import { type GithubFailure, repositoryPath } from '../client/index.js';
import { signalOfEvent } from '../webhook.js';

/** Pages of one list in one look; the rest is seen by later ones, as it changes. */
const MOST_PAGES = 10;
export const PER_PAGE = 100;

const object = z.record(z.string(), z.unknown());
export type Item = z.output<typeof object>;
const items = z.array(object);

export class Walk {
  readonly request: LookRequest;
  readonly changes: Change[] = [];
  readonly standing: string[] = [];
  readonly validators: Record<string, AnswerValidator> = {};
  readonly failures: Exclude<GithubFailure, { kind: 'empty' }>[] = [];
  /** A list was longer than one look reads: what lies behind is seen as it moves. */
  isCut = false;
  /** There is more than one look reads, and the next one goes on with it. */
  hasMore = false;
  readonly #client: GithubAsker;
  #repository: Item | null = null;

  constructor(request: LookRequest, client: GithubAsker) {
    this.request = request;
    this.#client = client;
  }

  /** What may not be asked at all is left out for good, and told; it holds back nothing else. */
  get isWhole(): boolean {
    return !this.hasMore && this.failures.every((failure) => failure.kind === 'denied');
  }

  path(...parts: readonly (string | number)[]): string {
    return repositoryPath(this.request.repository.fullName, ...parts);
  }

  /** The repository as GitHub shows it, as it stands in every payload; false when it cannot be had. */
  async begin(): Promise<boolean> {
    this.#repository = await this.one(this.path());
    return this.#repository !== null;
  }

  /** One thing, from a copy where nothing changed; null: not now, and the look is not whole. */
  async one(path: string): Promise<Item | null> {
    const { source, repository, signal } = this.request;
    const answer = await this.#client.read({
      source,
      repository: repository.fullName,
      path,
      shape: object,
      signal,
    });
    if (answer.kind === 'found') return answer.value;
    if (answer.kind !== 'unchanged' && answer.kind !== 'empty') this.failures.push(answer);
    return null;
  }

  /**
   * A list, page after page, until `goesOn` says that all further ones are old. Pages that did not change since they
   * were dealt with are skipped: what stands in them is known. `isSorted`: newest first, so an unchanged first page
   * means an unchanged list.
   */
  async list(
    path: string,
    query: Readonly<Record<string, string | number>>,
    options: {
      readonly field?: string;
      readonly isSorted: boolean;
      readonly goesOn?: (items: readonly Item[]) => boolean;
    },
  ): Promise<readonly Item[]> {
    const { source, repository, validators, signal } = this.request;
    const found: Item[] = [];
    let next: { path: string; query?: Readonly<Record<string, string | number>> } = { path, query };
    for (let page = 1; page <= MOST_PAGES; page += 1) {
      const key = next.query === undefined ? next.path : `${next.path} ${JSON.stringify(next.query)}`;
      const known = validators[key] ?? null;
      const shape = options.field === undefined ? items : pageOf(options.field);
      const etag = known?.etag ?? null;
      const answer = await this.#client.read({
        source,
        repository: repository.fullName,
        ...next,
        shape,
        etag,
        signal,
      });
      // Nothing can be listed of a repository without a commit, and that is an answer.
      if (answer.kind === 'empty') return found;
      if (answer.kind !== 'found' && answer.kind !== 'unchanged') {
        this.failures.push(answer);
        return found;
      }
      const isNew = answer.kind === 'found';
      const follows = isNew ? answer.next : (known?.next ?? null);
      const tag = isNew ? answer.etag : etag;
      if (tag !== null) this.validators[key] = { etag: tag, next: follows };
      if (isNew) found.push(...answer.value);
      if (!isNew && options.isSorted) return found;
      if (follows === null || (isNew && options.goesOn?.(answer.value) === false)) return found;
      next = { path: follows };
    }
    this.isCut = true;
    return found;
  }

  /** Notes a fact; if it is new, with what it says. `payloads` are asked for only then. */
  note(fact: string, version: string, payloads: readonly EventPayload[]): void {
    this.changes.push({ fact, version, signals: payloads.map((one) => this.#signalOf(fact, version, one)) });
  }

  stands(fact: string): void {
    this.standing.push(fact);
  }

  #signalOf(fact: string, version: string, { event, payload }: EventPayload) {
    const { source, now } = this.request;
    const action = typeof payload['action'] === 'string' ? `.${payload['action']}` : '';
    const id = String(this.#repository?.['id'] ?? '');
    return signalOfEvent({
      source,
      event,
      payload: { ...payload, repository: this.#repository },
      eventId: `${id}/${event}${action}/${fact}@${version}`,
      via: source.scan?.via ?? 'scan',
      receivedAt: now,
    });
  }
}

export interface EventPayload {
  readonly event: string;
  /** Without the repository, which is the same in all. */
  readonly payload: Item;
}

/** `{ total_count, check_runs: [ … ] }`. */
const pageOf = (field: string) => z.object({ [field]: items }).transform((page) => items.parse(page[field]));
