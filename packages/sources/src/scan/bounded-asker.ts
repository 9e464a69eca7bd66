/**
 * Questions of somebody who only wants to see: at most so many, and never the last of a rate limit that the running
 * services live on. What is beyond is not known, and the answer says so.
 */
import type { GithubAsker } from '../authority/ask-once.js';
import type { GithubClient, GithubOutcome, GithubQuestion, GithubRate } from '../github/client/index.js';

export interface BoundedAskerOptions {
  readonly client: Pick<GithubClient, 'read' | 'rates'>;
  /** In all. */
  readonly mostReads: number;
}

/** Of a rate limit: this part is left to others. */
const LEFT_TO_OTHERS = 0.1;

export class BoundedAsker implements GithubAsker {
  readonly #options: BoundedAskerOptions;
  #reads = 0;

  constructor(options: BoundedAskerOptions) {
    this.#options = options;
  }

  async read<T>(question: GithubQuestion<T>): Promise<GithubOutcome<T>> {
    const { client, mostReads } = this.#options;
    if (this.#reads >= mostReads) {
      return { kind: 'unavailable', detail: `No more than ${mostReads} questions are asked.` };
    }
    const scarce = client.rates().find(isScarce);
    if (scarce !== undefined) {
      const left = `${scarce.remaining} of ${scarce.limit}`;
      return {
        kind: 'unavailable',
        detail: `The rest of GitHub's rate limit (${left}) is left to the services.`,
      };
    }
    this.#reads += 1;
    return client.read(question);
  }
}

/** One that is used up says until when: that is GitHub's own answer. */
const isScarce = ({ limit, remaining, limitedUntil }: GithubRate): boolean =>
  limitedUntil === null && limit !== null && remaining !== null && remaining < limit * LEFT_TO_OTHERS;
