/**
 * The questions of one round, each asked once: ten deliveries about one pull request cost one read of it. Only for what
 * was all there before the round began, so that every answer is younger than what asks for it.
 */
import { z } from 'zod';
import type { GithubClient, GithubOutcome, GithubQuestion } from '../github/client/index.js';

/** What reading at a source needs of a client. */
export type GithubAsker = Pick<GithubClient, 'read'>;

export class AskOnce implements GithubAsker {
  readonly #client: GithubAsker;
  readonly #answers = new Map<string, Promise<GithubOutcome<unknown>>>();

  constructor(client: GithubAsker) {
    this.#client = client;
  }

  async read<T>(question: GithubQuestion<T>): Promise<GithubOutcome<T>> {
    const { source, repository, path, query } = question;
    const key = JSON.stringify([source.id, repository, path, query ?? null]);
    const asked = this.#answers.get(key) ?? this.#client.read({ ...question, shape: ANYTHING });
    this.#answers.set(key, asked);
    const answer = await asked;
    if (answer.kind !== 'found') return answer;
    const read = question.shape.safeParse(answer.value);
    return read.success
      ? { ...answer, value: read.data }
      : { kind: 'unavailable', detail: 'GitHub answered in a shape that is not known.' };
  }
}

/** Each question has a shape of its own for the same answer. */
const ANYTHING = z.unknown();
