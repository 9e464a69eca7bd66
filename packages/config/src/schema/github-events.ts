/**
 * Event names a route may listen to, as GitHub documents them (and the older ones its servers still send).
 * A misspelt event would never fire and never complain, so it is an error when the file is read.
 */
import { type Complaint, suggest } from '../problems/index.js';

const EVENTS: readonly string[] = [
  'branch_protection_configuration',
  'branch_protection_rule',
  'bypass_request_push_ruleset',
  'bypass_request_secret_scanning',
  'check_run',
  'check_suite',
  'code_scanning_alert',
  'commit_comment',
  'content_reference',
  'create',
  'custom_property',
  'custom_property_values',
  'delete',
  'dependabot_alert',
  'deploy_key',
  'deployment',
  'deployment_protection_rule',
  'deployment_review',
  'deployment_status',
  'discussion',
  'discussion_comment',
  'dismissal_request_code_scanning',
  'dismissal_request_dependabot',
  'dismissal_request_secret_scanning',
  'exemption_request_push_ruleset',
  'exemption_request_secret_scanning',
  'fork',
  'github_app_authorization',
  'gollum',
  'installation',
  'installation_repositories',
  'installation_target',
  'issue_comment',
  'issue_dependencies',
  'issues',
  'label',
  'marketplace_purchase',
  'member',
  'membership',
  'merge_group',
  'meta',
  'milestone',
  'org_block',
  'organization',
  'package',
  'page_build',
  'personal_access_token_request',
  'project',
  'project_card',
  'project_column',
  'projects_v2',
  'projects_v2_item',
  'projects_v2_status_update',
  'public',
  'pull_request',
  'pull_request_review',
  'pull_request_review_comment',
  'pull_request_review_thread',
  'push',
  'registry_package',
  'release',
  'repository',
  'repository_advisory',
  'repository_dispatch',
  'repository_import',
  'repository_ruleset',
  'repository_vulnerability_alert',
  'secret_scanning_alert',
  'secret_scanning_alert_location',
  'secret_scanning_scan',
  'security_advisory',
  'security_and_analysis',
  'sponsorship',
  'star',
  'status',
  'sub_issues',
  'team',
  'team_add',
  'watch',
  'workflow_dispatch',
  'workflow_job',
  'workflow_run',
];

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
