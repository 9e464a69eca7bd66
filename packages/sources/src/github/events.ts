/**
 * Every event name GitHub documents, and the older ones its servers still send. A closed list: an event outside
 * it gets a receipt with UNKNOWN_EVENT, so that a misspelt or brand-new event is seen instead of lost (I20).
 */
const KNOWN_EVENTS: ReadonlySet<string> = new Set([
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
  'ping',
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
]);

/** `github.check_run.completed` is of the event `check_run`; null for a type of another source. */
export function githubEventOf(type: string): string | null {
  const [source, event] = type.split('.');
  return source === 'github' && event !== undefined && event !== '' ? event : null;
}

/** False means: answer with UNKNOWN_EVENT. Takes a signal's type. */
export function isKnownGithubEvent(type: string): boolean {
  return KNOWN_EVENTS.has(githubEventOf(type) ?? '');
}

/** A hook's test of its connection: a no-work receipt. */
export const isPing = (type: string): boolean => githubEventOf(type) === 'ping';
