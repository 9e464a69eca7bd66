/** Issues and comments, and every event without a rule of its own. */
import { at, idAt, instantAt, textAt } from './fields.js';
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
      inputVersion: contentVersion('content', textAt(issue, 'title'), textAt(issue, 'body')),
      sourceAt: updatedAt,
      parentVersions: [],
      emittedAt: updatedAt,
    };
  },
};

export const issueComment: EventRule = {
  aspectWord: 'comment',
  words: {
    key: 'issue/{n}; on a pull request pr/{n}/comment/{comment id}',
    version:
      '`comment:` and a digest of the comment’s id and text; on a pull request the head, which the payload lacks and a read must supply',
    order: "the comment's `updated_at`; on a pull request unknown",
  },
  read: ({ payload }) => {
    const number = idAt(payload, 'issue', 'number');
    const comment = idAt(payload, 'comment', 'id');
    if (number === null || comment === null) return NOTHING;
    const emittedAt = instantAt(payload, 'comment', 'updated_at');
    const isOnPullRequest = typeof at(payload, 'issue', 'pull_request') === 'object';
    if (isOnPullRequest && at(payload, 'issue', 'pull_request') !== null) {
      const target = pullRequestTarget({ number, ref: null }, comment);
      return { ...NOTHING, target, emittedAt };
    }
    return {
      target: issueTarget(number),
      inputVersion: contentVersion('comment', comment, textAt(payload, 'comment', 'body')),
      sourceAt: emittedAt,
      parentVersions: [],
      emittedAt,
    };
  },
};

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
