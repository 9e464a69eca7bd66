/**
 * What an event tells that scope and eligibility are decided by. Null: the event does not tell.
 *
 * A filter that a person wrote (labels, authors, branches …) needs to be told: silence is not a yes. What is refused
 * by default (forks, drafts, bots) is refused when it is told; where it is not, the read before the lease decides.
 */
export interface EventFacts {
  readonly topics: readonly string[] | null;
  readonly properties: Readonly<Record<string, string>> | null;
  /** The branch it is about; of a pull request the one it goes into. */
  readonly branch: string | null;
  readonly labels: readonly string[] | null;
  readonly author: { readonly login: string; readonly isBot: boolean } | null;
  readonly association: string | null;
  readonly isFork: boolean | null;
  readonly isDraft: boolean | null;
  /** Files that changed. */
  readonly paths: readonly string[] | null;
}

export const NO_FACTS_TOLD: EventFacts = {
  topics: null,
  properties: null,
  branch: null,
  labels: null,
  author: null,
  association: null,
  isFork: null,
  isDraft: null,
  paths: null,
};
