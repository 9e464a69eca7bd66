/** What changed in a repository on GitHub, in the words that its webhooks would have used (same keys, same versions). */

import type { GithubAsker } from '../../authority/ask-once.js';
import { type Look, type LookRequest, listensTo } from '../../scan/look.js';
import { lookAtBranches } from './branches.js';
import { lookAtChecks } from './checks.js';
import { lookAtComments } from './comments.js';
import { lookAtIssues } from './issues.js';
import { lookAtPullRequests } from './pull-requests.js';
import { lookAtReviewComments, lookAtReviews } from './reviews.js';
import { Walk } from './walk.js';
import { lookAtWorkflows } from './workflows.js';

export async function lookAtGithub(request: LookRequest, client: GithubAsker): Promise<Look> {
  const walk = new Walk(request, client);
  if (await walk.begin()) await lookAtAll(walk);
  const [failure] = walk.failures;
  const isEmpty =
    walk.changes.length === 0 && walk.standing.length === 0 && Object.keys(walk.validators).length === 0;
  if (failure !== undefined && isEmpty) {
    return {
      kind: 'failed',
      outcome: failure.kind === 'absent' ? 'denied' : failure.kind,
      detail: failure.detail,
      until: failure.kind === 'limited' ? failure.until : null,
    };
  }
  return {
    kind: 'looked',
    changes: walk.changes,
    standing: walk.standing,
    validators: walk.validators,
    isWhole: walk.isWhole,
    until:
      walk.failures.map((one) => (one.kind === 'limited' ? one.until : null)).find((it) => it !== null) ??
      null,
    detail: failure?.detail ?? (walk.isCut || walk.hasMore ? 'A list was longer than one look reads.' : null),
  };
}

async function lookAtAll(walk: Walk): Promise<void> {
  const wants = (event: string): boolean => listensTo(walk.request.listened, `github.${event}`);
  const needsHeads = wants('check_run');
  const reviews = wants('pull_request_review');
  const pulls =
    needsHeads || reviews || wants('pull_request')
      ? await lookAtPullRequests(walk, wants('pull_request'))
      : { moved: [], heads: [] };
  if (reviews) await lookAtReviews(walk, pulls.moved);
  if (wants('pull_request_review_comment')) await lookAtReviewComments(walk);
  const branches = needsHeads || wants('push') ? await lookAtBranches(walk, wants('push')) : [];
  if (needsHeads) await lookAtChecks(walk, [...pulls.heads, ...branches]);
  if (wants('workflow_run')) await lookAtWorkflows(walk);
  if (wants('issues')) await lookAtIssues(walk);
  if (wants('issue_comment')) await lookAtComments(walk);
}
