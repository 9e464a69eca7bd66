/** Issues and comments, and every event without a rule of its own. */
import type { Command } from '@headgate/domain';
import { commandOf } from './command.js';
import { at, idAt, instantAt, type Payload, textAt } from './fields.js';
import {
  contentVersion,
  type EventRule,
  issueTarget,
  NOTHING,
  pullRequestTarget,
  repositoryTarget,
} from './reading.js';

export const issues: EventRule = {
  aspectWord: null,
  words: {
    key: 'issue/{n}',
    version: '`content:` and a digest of title and body: labels and comments do not make a new version',
    order: "the issue's `updated_at`",
  },
  read: ({ payload }) => {
    const issue = payload['issue'];
    const number = idAt(issue, 'number');
    if (number === null) return NOTHING;
    const updatedAt = instantAt(issue, 'updated_at');
    return {
      target: issueTarget(number),
      inputVersion: issueContent(issue),
      sourceAt: updatedAt,
      parentVersions: [],
      emittedAt: updatedAt,
    };
  },
};

/** The content of an issue: what a label, an assignment and a command ask to be worked on alike. */
export const issueContent = (issue: unknown): string =>
  contentVersion('content', textAt(issue, 'title'), textAt(issue, 'body'));

export const issueComment: EventRule = {
  aspectWord: 'comment',
  words: {
    key: 'issue/{n}; on a pull request pr/{n}/comment/{comment id}, with a command pr/{n}',
    version:
      '`comment:` and a digest of the comment’s id and text, with a command the content of the issue; on a pull request the head, which the payload lacks and a read must supply',
    order: "the comment's `updated_at`, with a command the issue's; on a pull request unknown",
  },
  read: ({ payload, action }) => {
    const issue = payload['issue'];
    const number = idAt(issue, 'number');
    const comment = idAt(payload, 'comment', 'id');
    if (number === null || comment === null) return NOTHING;
    const emittedAt = instantAt(payload, 'comment', 'updated_at');
    const isCommand = commandIn('issue_comment', action, payload) !== null;
    if (isObject(at(issue, 'pull_request'))) {
      const target = pullRequestTarget({ number, ref: null }, isCommand ? null : comment);
      return { ...NOTHING, target, emittedAt };
    }
    return {
      target: issueTarget(number),
      inputVersion: isCommand
        ? issueContent(issue)
        : contentVersion('comment', comment, textAt(payload, 'comment', 'body')),
      sourceAt: isCommand ? instantAt(issue, 'updated_at') : emittedAt,
      parentVersions: [],
      emittedAt,
    };
  },
};

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** Where each event that can hold a command holds it: only what was just written counts, not what was edited. */
const COMMAND_TEXTS: Readonly<Record<string, readonly [action: string, ...path: string[]]>> = {
  issue_comment: ['created', 'comment', 'body'],
  pull_request_review_comment: ['created', 'comment', 'body'],
  pull_request_review: ['submitted', 'review', 'body'],
};

/** What a person asks for: a command in a comment, or a button of our check. Null: nothing. */
export function commandIn(event: string, action: string | null, payload: Payload): Command | null {
  if (event === 'check_run' && action === 'requested_action') {
    const name = textAt(payload, 'requested_action', 'identifier');
    return name === null ? null : { name, argument: '' };
  }
  const place = COMMAND_TEXTS[event];
  if (place === undefined || place[0] !== action) return null;
  const [, ...path] = place;
  return commandOf(textAt(payload, ...path));
}

/**
 * Work for an event that says nothing of a branch, pull request or issue: its subject, once per event. The GUID
 * names the event, whichever hook brought it, so two hooks make one piece of work.
 */
export const anyOther = (event: string): EventRule => ({
  aspectWord: event,
  words: {
    key: '{event}/{id of its subject}, or {event} alone',
    version: '`delivery:` and the GUID: each event is new',
    order: 'unknown',
  },
  read: ({ payload, repository, guid }) => {
    if (repository === null) return NOTHING;
    const subject = payload[event] ?? payload['comment'] ?? payload['alert'];
    const aspect = idAt(subject, 'id') ?? idAt(subject, 'number');
    return {
      ...NOTHING,
      target: repositoryTarget(repository, aspect ?? ''),
      inputVersion: `delivery:${guid}`,
    };
  },
});
