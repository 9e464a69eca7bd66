/** Pull requests and their reviews, as they stand now. */
import { at, type Item, idAt, instantAt, textAt } from '../../github/fields.js';
import { isDismissed, isSubmitted, reviewedPull, reviewOf } from '../../github/reviews.js';
import { type ActReading, readAct } from './acts.js';
import { type EventReader, type EventReading, otherwise, payloadOf, unresolved } from './event-source.js';
import { labelOf } from './labels.js';

export const readPullRequest: EventReader = async (source, told) => {
  const { action, payload } = told;
  const number = idAt(payload, 'pull_request', 'number');
  if (number === null) return unresolved('The event names no pull request.');
  const pull = await source.one('pulls', number);
  if (pull.kind !== 'found') return pull;
  const refuted = refutedBy(pull.value, action, number);
  if (refuted !== null) return refuted;
  const act = await readAct(source, number, action, payload);
  if (act.kind !== 'act' && act.kind !== 'never' && act.kind !== 'unrecorded') return act;
  if (act.kind === 'never') return otherwise(`Pull request ${number} was never ${action}.`);
  const moved = movedSince(pull.value, act, number);
  if (moved !== null) return moved;
  const label = labelOf(pull.value, told);
  if (label === null) return otherwise(`Pull request ${number} does not have the label.`);
  const sender = act.kind === 'act' ? act.act.sender : (pull.value['user'] ?? null);
  return payloadOf({ action, number: pull.value['number'], pull_request: pull.value, sender, ...label });
};

/** The action says what is so now; else it was undone, or never happened. */
function refutedBy(pull: Item, action: string | null, number: string): EventReading | null {
  const isOpen = textAt(pull, 'state') === 'open';
  if (action === 'closed') return isOpen ? otherwise(`Pull request ${number} is open.`) : null;
  if (!isOpen) {
    const how = textAt(pull, 'merged_at') === null ? 'closed' : 'merged';
    return { kind: 'closed', detail: `Pull request ${number} is ${how}.` };
  }
  const isDraft = at(pull, 'draft') === true;
  if (action === 'ready_for_review' && isDraft) return otherwise(`Pull request ${number} is a draft.`);
  if (action === 'converted_to_draft' && !isDraft) return otherwise(`Pull request ${number} is no draft.`);
  return null;
}

/** Who labels or assigns a fork's pull request means the code they saw: what was pushed there since is not that. */
function movedSince(pull: Item, act: ActReading, number: string): EventReading | null {
  const isFork = idAt(pull, 'head', 'repo', 'id') !== idAt(pull, 'base', 'repo', 'id');
  if (!isFork || act.kind !== 'act' || act.act.at === null) return null;
  const pushedAt = instantAt(pull, 'head', 'repo', 'pushed_at');
  if (pushedAt !== null && pushedAt.getTime() <= act.act.at.getTime()) return null;
  const sha = textAt(pull, 'head', 'sha')?.slice(0, 12) ?? '';
  const detail = `The fork of pull request ${number} was pushed to after that. Look at ${sha} and do it again.`;
  return { kind: 'moved', detail };
}

export const readReview: EventReader = async (source, { action, payload }) => {
  const number = idAt(payload, 'pull_request', 'number');
  const id = idAt(payload, 'review', 'id');
  if (number === null || id === null) return unresolved('The event names no review of a pull request.');
  const review = await source.one('pulls', number, 'reviews', id);
  if (review.kind !== 'found') return review;
  if (!isSubmitted(review.value)) return otherwise(`The review ${id} is not submitted.`);
  if (isDismissed(review.value) !== (action === 'dismissed')) {
    return otherwise(`The review ${id} is ${textAt(review.value, 'state')?.toLowerCase() ?? 'unknown'}.`);
  }
  const pull = await source.one('pulls', number);
  if (pull.kind !== 'found') return pull;
  return payloadOf({
    action,
    review: reviewOf(review.value),
    pull_request: reviewedPull(pull.value, review.value),
    sender: review.value['user'] ?? null,
  });
};

export const readReviewComment: EventReader = async (source, { action, payload }) => {
  const id = idAt(payload, 'comment', 'id');
  if (id === null) return unresolved('The event names no comment.');
  const comment = await source.one('pulls', 'comments', id);
  if (comment.kind !== 'found') return comment;
  const number = /\/pulls\/(\d+)$/.exec(textAt(comment.value, 'pull_request_url') ?? '')?.[1];
  const reviewId = idAt(comment.value, 'pull_request_review_id');
  if (number === undefined || reviewId === null) return unresolved(`The comment ${id} belongs to no review.`);
  const review = await source.one('pulls', number, 'reviews', reviewId);
  if (review.kind !== 'found') return review;
  const pull = await source.one('pulls', number);
  if (pull.kind !== 'found') return pull;
  return payloadOf({
    action,
    comment: comment.value,
    pull_request: reviewedPull(pull.value, review.value),
    sender: comment.value['user'] ?? null,
  });
};
