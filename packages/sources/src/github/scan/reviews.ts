/**
 * Reviews of pull requests, and the comments on their code.
 *
 * GitHub lists reviews by pull request only, so those are asked for that moved: each review moves its pull request. How
 * far one was read is a fact of its own (`reviews/{n}`, by the pull request's `updated_at`), noted behind what it led
 * to; so a look that is cut goes on where it stopped. A review is told at the commit that its writer saw, as its webhook
 * told it: at today's head our own answer to a review would look like a new one.
 */
import { idAt, instantAt, textAt } from '../fields.js';
import { contentVersion } from '../reading.js';
import { isDismissed, isSubmitted, reviewedPull, reviewOf } from '../reviews.js';
import { lookAtCommentsOf } from './comments.js';
import { OVERLAP_MS } from './pull-requests.js';
import { type Item, PER_PAGE, type Walk } from './walk.js';

/** Pull requests whose reviews one look asks for; the next one goes on. */
const MOST_PULLS = 50;

export async function lookAtReviews(walk: Walk, moved: readonly Item[]): Promise<void> {
  let asked = 0;
  for (const pull of moved) {
    const number = idAt(pull, 'number');
    const updatedAt = textAt(pull, 'updated_at');
    if (number === null || updatedAt === null) continue;
    const fact = `reviews/${number}`;
    if (walk.request.memory.get(fact)?.version === updatedAt) {
      walk.stands(fact);
      continue;
    }
    // Of the first look nothing is news, and of a closed one nothing is work.
    if (walk.request.since !== null && textAt(pull, 'state') === 'open') {
      if (asked === MOST_PULLS) {
        walk.hasMore = true;
        return;
      }
      asked += 1;
      if (!(await lookAtReviewsOf(walk, pull, number))) continue;
    }
    walk.note(fact, updatedAt, []);
  }
}

/** False: not all of them could be read. */
async function lookAtReviewsOf(walk: Walk, pull: Item, number: string): Promise<boolean> {
  const failures = walk.failures.length;
  const path = walk.path('pulls', number, 'reviews');
  const found = await walk.list(path, { per_page: PER_PAGE }, { isSorted: false });
  for (const review of found) noteReview(walk, pull, review);
  return walk.failures.length === failures;
}

function noteReview(walk: Walk, pull: Item, review: Item): void {
  const id = idAt(review, 'id');
  if (id === null || !isSubmitted(review)) return;
  const fact = `review/${id}`;
  const version = contentVersion('review', textAt(review, 'state'), textAt(review, 'body'));
  const before = walk.request.memory.get(fact)?.version ?? null;
  if (before === version) {
    walk.stands(fact);
    return;
  }
  const action = isDismissed(review) ? 'dismissed' : before === null ? 'submitted' : 'edited';
  const { since } = walk.request;
  const submittedMs = instantAt(review, 'submitted_at')?.getTime() ?? 0;
  // One from before the last look that was not noted, or that was dismissed before anybody saw it: no news.
  const isNews =
    before !== null ||
    (since !== null && action !== 'dismissed' && submittedMs >= since.getTime() - OVERLAP_MS);
  const payload = {
    action,
    review: reviewOf(review),
    pull_request: reviewedPull(pull, review),
    sender: review['user'] ?? null,
  };
  walk.note(fact, version, isNews ? [{ event: 'pull_request_review', payload }] : []);
}

export const lookAtReviewComments = (walk: Walk): Promise<void> =>
  lookAtCommentsOf(walk, {
    event: 'pull_request_review_comment',
    list: 'pulls',
    fact: 'review-comment',
    about: aboutCode,
  });

async function aboutCode(walk: Walk, comment: Item): Promise<Item | null> {
  const number = /\/pulls\/(\d+)$/.exec(textAt(comment, 'pull_request_url') ?? '')?.[1];
  const reviewId = idAt(comment, 'pull_request_review_id');
  if (number === undefined || reviewId === null) return null;
  const pull = await walk.one(walk.path('pulls', number));
  const review = await walk.one(walk.path('pulls', number, 'reviews', reviewId));
  return pull === null || review === null ? null : { pull_request: reviewedPull(pull, review) };
}
