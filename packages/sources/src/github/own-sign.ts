/**
 * Whether an event is our own doing: our App or bot did it, or it carries our run's marker.
 *
 * Who sent an event about a check is not asked: GitHub names the account whose push started it, which may be ours
 * although the finding is the CI's. There the app that made the check counts. A marker is evidence, not authority:
 * anybody can paste one. Here it can only make Headgate keep still.
 */
import type { SelfIdentity, Signal } from '@headgate/domain';
import { githubEventOf } from './events.js';
import { at, idAt, textAt } from './fields.js';

export interface OwnSign {
  readonly rule: 'loop-guard.identity' | 'loop-guard.marker';
  readonly detail: string;
}

export const RUN_MARKER = /<!--\s*agent-run-id:\s*run_[0-9a-z]{26}\s*-->/;
const RUN_TRAILER = /^Agent-Run-ID:[ \t]*run_[0-9a-z]{26}[ \t]*$/m;
/** Of everything Headgate says where it was asked. */
export const FEEDBACK_MARKER = /<!--\s*headgate-feedback:/;

const NOBODY: SelfIdentity = { appId: null, logins: [] };

/** Null: it is somebody else's. */
export function ownSign(signal: Signal, self: SelfIdentity = NOBODY): OwnSign | null {
  const event = githubEventOf(signal.type);
  if (event === null) return null;
  const action = textAt(signal.data, 'action');
  // A button of our own check, pressed by a person.
  if (isButton(event, action)) return null;
  return ownIdentity(signal, event, self) ?? ownMarker(signal, event, action);
}

export const isButton = (event: string, action: string | null): boolean =>
  (event === 'check_run' && (action === 'rerequested' || action === 'requested_action')) ||
  (event === 'check_suite' && action === 'rerequested');

function ownIdentity({ data, actor }: Signal, event: string, self: SelfIdentity): OwnSign | null {
  const madeBy = MADE_BY[event];
  if (madeBy !== undefined) {
    const appId = idAt(data, ...madeBy);
    return appId !== null && appId === self.appId
      ? { rule: 'loop-guard.identity', detail: `The check is one of our own App (${appId}).` }
      : null;
  }
  const appId = idAt(data, 'comment', 'performed_via_github_app', 'id');
  if (appId !== null && appId === self.appId) {
    return { rule: 'loop-guard.identity', detail: `The comment is one of our own App (${appId}).` };
  }
  const name = actor?.name.toLowerCase();
  const login = self.logins.find((one) => one.toLowerCase() === name);
  return login === undefined
    ? null
    : { rule: 'loop-guard.identity', detail: `It was done by ${login}, an account of ours.` };
}

/** Events about what some program found out, with the id of the app that did. Null path: no app is named. */
const MADE_BY: Readonly<Record<string, readonly string[]>> = {
  check_run: ['check_run', 'app', 'id'],
  check_suite: ['check_suite', 'app', 'id'],
  workflow_run: [],
  workflow_job: [],
  status: [],
};

function ownMarker({ data }: Signal, event: string, action: string | null): OwnSign | null {
  const text = ownTextOf(data, event, action);
  if (text !== null && (RUN_MARKER.test(text) || FEEDBACK_MARKER.test(text))) {
    return { rule: 'loop-guard.marker', detail: 'Its text carries the marker of one of our runs.' };
  }
  if (event !== 'push') return null;
  // A merge on the forge's pages keeps trailers, and is a person's act.
  const isMergedOnForge = textAt(data, 'head_commit', 'committer', 'username') === 'web-flow';
  const message = textAt(data, 'head_commit', 'message');
  return message !== null && RUN_TRAILER.test(message) && !isMergedOnForge
    ? { rule: 'loop-guard.marker', detail: 'Its commit carries the trailer Agent-Run-ID.' }
    : null;
}

/** The text that this very event brought; a pull request of ours that somebody labels is not our event. */
function ownTextOf(data: unknown, event: string, action: string | null): string | null {
  switch (event) {
    case 'issue_comment':
    case 'commit_comment':
    case 'pull_request_review_comment':
    case 'discussion_comment':
      return textAt(data, 'comment', 'body');
    case 'pull_request_review':
      return textAt(data, 'review', 'body');
    case 'pull_request':
      return action === 'opened' ? textAt(data, 'pull_request', 'body') : null;
    case 'issues':
      return action === 'opened' ? textAt(data, 'issue', 'body') : null;
    default:
      return at(data, event) === undefined ? null : textAt(data, event, 'body');
  }
}
