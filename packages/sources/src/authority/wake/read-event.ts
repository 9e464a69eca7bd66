/**
 * What a delivery with `authority: source` is about, read at the source and put in the words of the event that told of
 * it, so that it makes the same key and version. The payload gives numbers to ask with; a number that is made up finds
 * nothing, and a claim that is not so has no effect.
 *
 * GitHub keeps no record of some things: of a button that was pressed, of commits between two pushes. What only a
 * payload can tell is not taken.
 */
import type { Signal, SourcePolicy } from '@headgate/domain';
import { githubEventOf } from '../../github/events.js';
import { textAt } from '../../github/fields.js';
import { isButton } from '../../github/own-sign.js';
import { readAgain } from '../../github/webhook.js';
import type { GithubAsker } from '../ask-once.js';
import type { Readout } from '../readout.js';
import { readCreated, readDeleted, readPush } from './branches.js';
import { readCheckRun, readCheckSuite, readWorkflowRun } from './checks.js';
import { type EventReader, EventSource } from './event-source.js';
import { readPullRequest, readReview, readReviewComment } from './pull-requests.js';
import { readComment, readIssue } from './talk.js';

/** The events that can be read again; docs/sources.md lists them. */
export const READABLE_EVENTS: Readonly<Record<string, EventReader>> = {
  check_run: readCheckRun,
  check_suite: readCheckSuite,
  workflow_run: readWorkflowRun,
  push: readPush,
  create: readCreated,
  delete: readDeleted,
  pull_request: readPullRequest,
  pull_request_review: readReview,
  pull_request_review_comment: readReviewComment,
  issues: readIssue,
  issue_comment: readComment,
};

interface WakeQuery {
  readonly client: GithubAsker;
  readonly source: SourcePolicy;
  readonly signal: Signal;
}

export async function readEvent({ client, source, signal }: WakeQuery): Promise<Readout> {
  const event = githubEventOf(signal.type);
  const { data, repository } = signal;
  if (event === null || repository === null || typeof data !== 'object' || data === null) {
    return { kind: 'unresolved', detail: 'The event names no repository.' };
  }
  const action = textAt(data, 'action');
  const read = Object.hasOwn(READABLE_EVENTS, event) ? READABLE_EVENTS[event] : undefined;
  if (read === undefined || isButton(event, action)) {
    return { kind: 'untold', detail: `GitHub keeps no record of ${signal.type}, and authority is source.` };
  }
  const place = new EventSource(client, source, repository.fullName);
  const home = await place.one();
  if (home.kind !== 'found') return home;
  const reading = await read(place, { action, payload: { ...data } });
  if (reading.kind !== 'payload') return reading;
  const payload = { ...reading.payload, repository: home.value };
  return { kind: 'read', signal: readAgain(signal, event, payload) };
}
