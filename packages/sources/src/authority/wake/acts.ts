/**
 * Acts of people on an issue or pull request: GitHub keeps a record of each, with who did it and when. That record
 * counts, not who the payload says it was.
 */
import { at, type Item, idAt, instantAt, textAt } from '../../github/fields.js';
import type { NotRead } from '../readout.js';
import type { EventSource } from './event-source.js';

/** Action of the webhook -> name in the record. Others leave no trace of their own. */
const RECORDED: Readonly<Record<string, string>> = {
  labeled: 'labeled',
  unlabeled: 'unlabeled',
  assigned: 'assigned',
  unassigned: 'unassigned',
  closed: 'closed',
  reopened: 'reopened',
  ready_for_review: 'ready_for_review',
  converted_to_draft: 'convert_to_draft',
  review_requested: 'review_requested',
};

export interface Act {
  /** GitHub's user, as in a payload; null: the account is gone. */
  readonly sender: unknown;
  readonly at: Date | null;
}

export type ActReading =
  | { readonly kind: 'act'; readonly act: Act }
  /** The action leaves no record of its own. */
  | { readonly kind: 'unrecorded' }
  | { readonly kind: 'never' }
  | NotRead;

/** The latest act of this name, on this label or person if the payload names one. */
export async function readAct(
  source: EventSource,
  number: string,
  action: string | null,
  payload: unknown,
): Promise<ActReading> {
  const name = action !== null && Object.hasOwn(RECORDED, action) ? RECORDED[action] : undefined;
  if (name === undefined) return { kind: 'unrecorded' };
  const events = await source.list('issues', number, 'events');
  if ('kind' in events) return events as NotRead;
  const found = events.filter((event) => textAt(event, 'event') === name && isAbout(event, payload)).at(-1);
  if (found === undefined) return { kind: 'never' };
  return { kind: 'act', act: { sender: found['actor'] ?? null, at: instantAt(found, 'created_at') } };
}

function isAbout(event: Item, payload: unknown): boolean {
  const label = textAt(payload, 'label', 'name');
  const assignee = idAt(payload, 'assignee', 'id');
  const isLabel = at(event, 'label') === undefined || textAt(event, 'label', 'name') === label;
  const isAssignee = at(event, 'assignee') === undefined || idAt(event, 'assignee', 'id') === assignee;
  return isLabel && isAssignee;
}
