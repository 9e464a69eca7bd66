/**
 * Reviews as the API shows them, put in the words of their webhooks; what is looked for and what is read again say the
 * same. A review is about the commit that its writer saw: that is the head which is told with it.
 */
import type { Item } from './fields.js';
import { at, commitAt, textAt } from './fields.js';

/** The API shouts its states, the webhook does not. */
export const reviewOf = (review: Item): Item => ({
  ...review,
  state: textAt(review, 'state')?.toLowerCase() ?? null,
});

/** The pull request as it stood when the review was written. */
export function reviewedPull(pull: Item, review: Item): Item {
  const seen = commitAt(review, 'commit_id');
  const head = at(pull, 'head');
  if (seen === null || typeof head !== 'object') return pull;
  return { ...pull, head: { ...head, sha: seen } };
}

/** Of a review that is being written, nobody else knows. */
export const isSubmitted = (review: Item): boolean =>
  textAt(review, 'submitted_at') !== null && textAt(review, 'state') !== 'PENDING';

export const isDismissed = (review: Item): boolean => textAt(review, 'state')?.toLowerCase() === 'dismissed';
