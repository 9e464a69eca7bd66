/** What reading a waiting signal at its source ends in. */
import type { Signal } from '@headgate/domain';
import type { GithubOutcome } from '../github/client/index.js';

export type Readout =
  /** The signal, with what was missing or only told. */
  | { readonly kind: 'read'; readonly signal: Signal }
  /** With the signal as far as it was read. */
  | (NotRead & { readonly signal?: Signal });

export type NotRead =
  | { readonly kind: 'closed'; readonly detail: string }
  /** The head moved after a person asked. */
  | { readonly kind: 'moved'; readonly detail: string }
  /** The source does not say what the signal says. */
  | { readonly kind: 'otherwise'; readonly detail: string }
  /** The source answered, and there is nothing to resolve it to. */
  | { readonly kind: 'unresolved'; readonly detail: string }
  /** There is no commit yet: nothing can be resolved before there is one. */
  | { readonly kind: 'empty'; readonly detail: string }
  /** The source keeps no record of such a thing: only the payload tells it. */
  | { readonly kind: 'untold'; readonly detail: string }
  | {
      readonly kind: 'unavailable';
      readonly detail: string;
      /** Not before this; null: nobody said. */
      readonly until: Date | null;
    };

/** An answer that did not come, or that the source refuses: nothing is known, but that a repository is empty. */
export function notRead(answer: Exclude<GithubOutcome<unknown>, { kind: 'found' }>): NotRead {
  if (answer.kind === 'empty') return { kind: 'empty', detail: answer.detail };
  return {
    kind: 'unavailable',
    detail: answer.kind === 'unchanged' ? 'GitHub said unchanged and no copy is left.' : answer.detail,
    until: answer.kind === 'limited' ? answer.until : null,
  };
}
