/** What a signal is in a chain of causes: the loop guard's question, answered from the envelope alone. Pure. */
import type { AskedAt, Cause, CausePart, Signal } from '@headgate/domain';
import { GIT_PUSH } from '../git/push.js';
import { githubEventOf } from '../github/events.js';
import { idAt, isCommitId, textAt } from '../github/fields.js';
import { isButton } from '../github/own-sign.js';

/** Something was found out about a commit, whoever is named as the sender. */
const FINDINGS: ReadonlySet<string> = new Set([
  'check_run',
  'check_suite',
  'workflow_run',
  'workflow_job',
  'status',
  'merge_group',
  'deployment_status',
]);

export function causeOf(signal: Signal): Cause {
  const part = partOf(signal);
  const isPerson = signal.actor?.kind === 'user' || signal.actor?.kind === 'token';
  return {
    part,
    isByPerson: part === 'person' || (part === 'echo' && isPerson),
    isRequest: isRequest(signal),
    version: part === 'person' || part === 'clock' ? null : commitOf(signal),
    subjects: subjectsOf(signal),
    target: part === 'clock' ? null : targetSubject(signal),
    actor: part === 'person' || part === 'machine' ? actorOf(signal) : null,
  };
}

function partOf(signal: Signal): CausePart {
  switch (signal.trigger) {
    case 'manual':
      return 'person';
    case 'schedule':
    case 'goal':
      return 'clock';
    case 'event':
      return partOfEvent(signal);
  }
}

function partOfEvent(signal: Signal): CausePart {
  const event = githubEventOf(signal.type);
  const action = textAt(signal.data, 'action');
  const isUser = signal.actor?.kind === 'user';
  if (signal.type === GIT_PUSH) return 'echo';
  if (event === null) return isUser ? 'person' : 'finding';
  if (isButton(event, action)) return isUser ? 'person' : 'machine';
  if (FINDINGS.has(event)) return 'finding';
  if (event === 'push' || (event === 'pull_request' && action === 'synchronize')) return 'echo';
  return isUser ? 'person' : 'machine';
}

/** A command, or a button that only a person can press. */
const isRequest = (signal: Signal): boolean => {
  if (signal.command != null) return true;
  const event = githubEventOf(signal.type);
  return event !== null && isButton(event, textAt(signal.data, 'action')) && signal.actor?.kind === 'user';
};

const commitOf = ({ inputVersion }: Signal): string | null =>
  inputVersion !== null && isCommitId(inputVersion) ? inputVersion : null;

function targetSubject({ repository, target }: Signal): string | null {
  if (repository === null || target === null || target.kind === 'repository') return null;
  return `${repository.externalId}/${target.kind}/${target.id}`;
}

/** The target, and its branch: a push to a branch is an act on the pull request that it belongs to. */
function subjectsOf(signal: Signal): readonly string[] {
  const { repository, target } = signal;
  const exact = targetSubject(signal);
  const branch =
    repository === null || target === null || target.ref === null
      ? null
      : `${repository.externalId}/branch/${target.ref}`;
  return [...new Set([exact, branch].filter((subject) => subject !== null))];
}

const actorOf = ({ actor }: Signal): string | null => (actor === null ? null : `${actor.kind}:${actor.id}`);

/** Where a command stands; null for a signal without one, or whose place cannot be answered. */
export function askedAt(signal: Signal): AskedAt | null {
  const { repository, data, source } = signal;
  if (signal.command == null || repository === null) return null;
  const number = idAt(data, 'issue', 'number') ?? idAt(data, 'pull_request', 'number');
  const comment = idAt(data, 'comment', 'id') ?? reviewId(data);
  if (number === null || comment === null) return null;
  return { source, repository: repository.fullName, number, commentId: comment };
}

const reviewId = (data: unknown): string | null => {
  const id = idAt(data, 'review', 'id');
  return id === null ? null : `review-${id}`;
};
