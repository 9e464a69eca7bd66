import type { EventRule } from './reading.js';
import {
  created,
  deleted,
  mergeGroup,
  pullRequest,
  push,
  review,
  reviewComment,
  reviewThread,
  workflowDispatch,
} from './rules-changes.js';
import { checkRun, checkSuite, commitStatus, workflowJob, workflowRun } from './rules-checks.js';
import { anyOther, issueComment, issues } from './rules-talk.js';

/** The events that name a target of their own. The table in docs/sources.md is made from this. */
export const EVENT_RULES: Readonly<Record<string, EventRule>> = {
  check_run: checkRun,
  check_suite: checkSuite,
  workflow_run: workflowRun,
  workflow_job: workflowJob,
  status: commitStatus,
  push,
  create: created,
  delete: deleted,
  merge_group: mergeGroup,
  workflow_dispatch: workflowDispatch,
  pull_request: pullRequest,
  pull_request_review: review,
  pull_request_review_comment: reviewComment,
  pull_request_review_thread: reviewThread,
  issues,
  issue_comment: issueComment,
};

export const ruleOf = (event: string): EventRule =>
  (Object.hasOwn(EVENT_RULES, event) ? EVENT_RULES[event] : undefined) ?? anyOther(event);
