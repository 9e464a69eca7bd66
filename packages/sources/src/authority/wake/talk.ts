/** Issues and the comments on them, as they stand now. */
import { at, idAt, textAt } from '../../github/fields.js';
import { readAct } from './acts.js';
import { type EventReader, otherwise, payloadOf, unresolved } from './event-source.js';
import { labelOf } from './labels.js';

export const readIssue: EventReader = async (source, told) => {
  const { action, payload } = told;
  const number = idAt(payload, 'issue', 'number');
  if (number === null) return unresolved('The event names no issue.');
  const issue = await source.one('issues', number);
  if (issue.kind !== 'found') return issue;
  const isOpen = textAt(issue.value, 'state') === 'open';
  if (action === 'closed' && isOpen) return otherwise(`Issue ${number} is open.`);
  if (action !== 'closed' && !isOpen) return { kind: 'closed', detail: `Issue ${number} is closed.` };
  const act = await readAct(source, number, action, payload);
  if (act.kind === 'never') return otherwise(`Issue ${number} was never ${action}.`);
  if (act.kind !== 'act' && act.kind !== 'unrecorded') return act;
  const label = labelOf(issue.value, told);
  if (label === null) return otherwise(`Issue ${number} does not have the label.`);
  const sender = act.kind === 'act' ? act.act.sender : (issue.value['user'] ?? null);
  return payloadOf({ action, issue: issue.value, sender, ...label });
};

/** On an issue or a pull request; which one, the comment itself says. */
export const readComment: EventReader = async (source, { action, payload }) => {
  const id = idAt(payload, 'comment', 'id');
  if (id === null) return unresolved('The event names no comment.');
  const comment = await source.one('issues', 'comments', id);
  if (comment.kind !== 'found') return comment;
  const number = /\/issues\/(\d+)$/.exec(textAt(comment.value, 'issue_url') ?? '')?.[1];
  if (number === undefined) return unresolved(`The comment ${id} stands on no issue.`);
  const issue = await source.one('issues', number);
  if (issue.kind !== 'found') return issue;
  const sender = at(comment.value, 'user') ?? null;
  return payloadOf({ action, issue: issue.value, comment: comment.value, sender });
};
