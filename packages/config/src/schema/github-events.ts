/**
 * Event names a route may listen to.
 * A misspelt event would never fire and never complain, so it is an error when the file is read.
 */
import { GITHUB_EVENTS } from '@headgate/domain';
import { type Complaint, suggest } from '../problems/index.js';

/** A ping is GitHub's own test of a hook, and wakes nobody. */
const EVENTS = GITHUB_EVENTS.filter((event) => event !== 'ping');

/** Actions of the events that coding agents are woken by; the actions of other events are not checked. */
const ACTIONS: Readonly<Record<string, readonly string[]>> = {
  check_run: ['created', 'completed', 'requested_action', 'rerequested'],
  check_suite: ['completed', 'requested', 'rerequested'],
  workflow_run: ['completed', 'in_progress', 'requested'],
  workflow_job: ['completed', 'in_progress', 'queued', 'waiting'],
  issue_comment: ['created', 'deleted', 'edited', 'pinned', 'unpinned'],
  pull_request_review: ['submitted', 'dismissed', 'edited'],
  pull_request_review_comment: ['created', 'deleted', 'edited'],
  issues: [
    ...['assigned', 'closed', 'deleted', 'demilestoned', 'edited', 'labeled', 'locked', 'milestoned'],
    ...['opened', 'pinned', 'reopened', 'transferred', 'typed', 'unassigned', 'unlabeled', 'unlocked'],
    ...['unpinned', 'untyped'],
  ],
  pull_request: [
    ...['assigned', 'auto_merge_disabled', 'auto_merge_enabled', 'closed', 'converted_to_draft'],
    ...['demilestoned', 'dequeued', 'edited', 'enqueued', 'labeled', 'locked', 'milestoned', 'opened'],
    ...['ready_for_review', 'reopened', 'review_request_removed', 'review_requested', 'synchronize'],
    ...['unassigned', 'unlabeled', 'unlocked'],
  ],
};

/** Null when `github.check_run` or `github.check_run.completed` is an event GitHub sends. */
export function checkGithubEvent(type: string): Complaint | null {
  const [, event = '', action, ...rest] = type.split('.');
  if (rest.length > 0) {
    return { message: `"${type}" has too many parts`, fix: 'Write github.EVENT or github.EVENT.ACTION.' };
  }
  if (!EVENTS.includes(event)) {
    const nearest = suggest(event, EVENTS);
    return {
      message: `GitHub sends no event "${event}"`,
      fix: nearest.startsWith('Did') ? nearest : 'See the events in GitHub’s webhook documentation.',
    };
  }
  const actions = ACTIONS[event];
  if (action === undefined || actions === undefined || actions.includes(action)) return null;
  return {
    message: `github.${event} has no action "${action}"`,
    fix: suggest(action, actions),
  };
}
