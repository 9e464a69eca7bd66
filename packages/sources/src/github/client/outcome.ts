/** What a question to GitHub can end in. Expected outcomes are values: a caller decides about each of them. */
export type GithubOutcome<T> =
  | {
      readonly kind: 'found';
      readonly value: T;
      /** To be given with the next question about the same; null when GitHub sent none. */
      readonly etag: string | null;
      /** Path and query of the next page of a list, to be asked as they are; null on the last one. */
      readonly next: string | null;
      /** Answered 304: `value` is the copy that was kept. */
      readonly isCopy: boolean;
    }
  /** Answered 304 to the etag that the caller gave: nothing has changed since. Costs nothing of the rate limit. */
  | { readonly kind: 'unchanged' }
  /** GitHub knows of no such thing, and the repository itself can be seen. */
  | { readonly kind: 'absent'; readonly detail: string }
  /** The repository holds no commit yet, so nothing in it has a place. A commit will change that. */
  | { readonly kind: 'empty'; readonly detail: string }
  /** These credentials may not ask this. Somebody has to change something; asking again does not help. */
  | { readonly kind: 'denied'; readonly detail: string }
  /** The rate limit is used up. Nothing is asked before `until`. */
  | { readonly kind: 'limited'; readonly until: Date; readonly detail: string }
  /** No answer, a broken one, or one of another shape: nothing is known. */
  | { readonly kind: 'unavailable'; readonly detail: string };

/** Everything but an answer: passes through whatever asked for another type. */
export type GithubFailure = Exclude<GithubOutcome<never>, { kind: 'found' } | { kind: 'unchanged' }>;
