/**
 * Which work a signal asks for (I4): the work key and the version of its input.
 *
 * Keys are built from the forge's numeric ids and the target, so that a renamed or transferred repository stays
 * the same work, and every way in (webhook, poll, scan) makes the same key. A branch name may hold slashes, so it
 * is escaped wherever more may follow: two different pieces of work never share a key. What is last stands as is.
 */
import { checkWork, type ReasonCode, type Signal, type TargetRef, type WorkIdentity } from '@headgate/domain';
import { githubEventOf } from '../github/events.js';
import { at, textAt } from '../github/fields.js';
import { ruleOf } from '../github/rules.js';

export type Identification =
  | { readonly kind: 'work'; readonly work: WorkIdentity }
  | {
      readonly kind: 'unresolved';
      readonly reasonCode: Extract<ReasonCode, 'HEAD_UNRESOLVED' | 'TARGET_CLOSED' | 'TASK_CONTRACT_INVALID'>;
      readonly detail: string;
    };

/** What a route's own `work` templates gave for this signal; null where it has none. */
export interface WrittenIdentity {
  readonly key: string | null;
  readonly version: string | null;
}

const NOT_WRITTEN: WrittenIdentity = { key: null, version: null };

/** `route` is needed for manual work only, whose key names it. Pure. */
export function identify(
  signal: Signal,
  route: { readonly id: string } | null = null,
  written: WrittenIdentity = NOT_WRITTEN,
): Identification {
  const workKey = givenKeyOf(signal) ?? written.key ?? inferredKeyOf(signal, route);
  if (workKey === null) {
    return signal.repository === null
      ? unresolved('TASK_CONTRACT_INVALID', 'The signal names no repository.')
      : unresolved(
          'HEAD_UNRESOLVED',
          'The signal names no branch, pull request or issue of this repository.',
        );
  }
  if (isClosing(signal)) return unresolved('TARGET_CLOSED', 'The event tells that its target was closed.');
  const inputVersion = written.version ?? versionOf(signal);
  if (inputVersion === null) {
    return isDeletion(signal)
      ? unresolved('TARGET_CLOSED', 'The branch or tag was deleted.')
      : unresolved('HEAD_UNRESOLVED', 'The signal does not say at which commit its target stands.');
  }
  const work = { workKey, inputVersion };
  const check = checkWork(work);
  return check.ok ? { kind: 'work', work } : unresolved('TASK_CONTRACT_INVALID', check.problem);
}

/** A person may say which work they mean, e.g. the one of a failing check. */
const givenKeyOf = (signal: Signal): string | null =>
  signal.trigger === 'manual' ? textAt(signal.data, 'workKey') : null;

function inferredKeyOf(signal: Signal, route: { readonly id: string } | null): string | null {
  const { repository, target, trigger } = signal;
  switch (trigger) {
    case 'event':
      if (repository === null || target === null) return null;
      return `${repository.externalId}/${targetPath(target, aspectWordOf(signal.type))}`;
    case 'schedule':
    case 'goal': {
      const id = signal.source.startsWith(`${trigger}/`)
        ? signal.source.slice(trigger.length + 1)
        : signal.source;
      return `${repositoryPrefix(signal)}${trigger}/${id}`;
    }
    case 'manual': {
      const routeId = escapeSegment(route?.id ?? textAt(signal.data, 'route') ?? '');
      const isWhole = target === null || (target.kind === 'repository' && !target.aspect);
      const suffix = isWhole ? '' : `/${targetPath(target, 'aspect')}`;
      return `${repositoryPrefix(signal)}manual/${routeId}${suffix}`;
    }
  }
}

const repositoryPrefix = (signal: Signal): string =>
  signal.repository === null ? '' : `${signal.repository.externalId}/`;

/** `pr/7/check/unit`, `branch/main`, `issue/3`, `release/99`. */
function targetPath(target: TargetRef, word: string | null): string {
  const aspect =
    target.aspect === null || word === null ? '' : target.aspect === '' ? word : `${word}/${target.aspect}`;
  const base = {
    pull_request: `pr/${target.id}`,
    branch: `branch/${escapeSegment(target.id)}`,
    issue: `issue/${target.id}`,
    repository: '',
  }[target.kind];
  return [base, aspect].filter((part) => part !== '').join('/');
}

const escapeSegment = (text: string): string => text.replaceAll('%', '%25').replaceAll('/', '%2F');

function aspectWordOf(type: string): string | null {
  const event = githubEventOf(type);
  return event === null ? 'aspect' : ruleOf(event).aspectWord;
}

function versionOf(signal: Signal): string | null {
  if (signal.inputVersion !== null) return signal.inputVersion;
  switch (signal.trigger) {
    case 'event':
      return null;
    // Without a repository a tick's input is its nominal time, which is when it is emitted.
    case 'schedule':
    case 'goal':
      if (signal.repository !== null) return null;
      return signal.emittedAt?.toISOString() ?? signal.eventId;
    // Without a repository each call is its own piece of work, unless it says otherwise.
    case 'manual':
      return signal.repository === null ? `call:${signal.eventId}` : null;
  }
}

/** Nothing can be done for what was just closed or deleted, whatever a route listens to. */
function isClosing({ type }: Signal): boolean {
  return type === 'github.pull_request.closed' || CLOSING_ISSUE.has(type);
}

const CLOSING_ISSUE: ReadonlySet<string> = new Set([
  'github.issues.closed',
  'github.issues.deleted',
  'github.issues.transferred',
]);

function isDeletion({ type, data }: Signal): boolean {
  const event = githubEventOf(type);
  return event === 'delete' || (event === 'push' && at(data, 'deleted') === true);
}

const unresolved = (
  reasonCode: Extract<Identification, { kind: 'unresolved' }>['reasonCode'],
  detail: string,
): Identification => ({ kind: 'unresolved', reasonCode, detail });
