/**
 * What a comment on a pull request is known by until its head was read. Its version is the head, which moves: a scan that
 * finds it later would take it for other work. So it is heard once, by a name that hook and scan give it alike.
 */
import { askedEventId, type Signal } from '@headgate/domain';
import { githubEventOf } from '../github/events.js';
import { idAt, textAt } from '../github/fields.js';
import { contentVersion } from '../github/reading.js';
import { askedAt } from './cause.js';

/** An event id beside the delivery's own; null: the work it asks for tells it from others. */
export function heardAs(signal: Signal): string | null {
  const asked = askedAt(signal);
  if (asked !== null) return askedEventId(asked);
  const { data, repository, target } = signal;
  if (githubEventOf(signal.type) !== 'issue_comment' || repository === null) return null;
  // On an issue it is known by the work: its version is what it says.
  if (target?.kind !== 'pull_request') return null;
  const comment = idAt(data, 'comment', 'id');
  const name = `said/${repository.externalId}/${comment}`;
  switch (comment === null ? null : textAt(data, 'action')) {
    case 'created':
      return name;
    case 'edited':
      return `${name}@${contentVersion('comment', textAt(data, 'comment', 'body'))}`;
    default:
      return null;
  }
}
