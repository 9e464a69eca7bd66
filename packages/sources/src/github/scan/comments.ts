/**
 * Comments, on issues and on code. GitHub lists either kind of a whole repository, the last changed first, so both are
 * looked at in one way; they differ in what they were said about.
 */
import { idAt, instantAt, textAt } from '../fields.js';
import { contentVersion } from '../reading.js';
import { isYoung, sinceQuery } from './issues.js';
import { OVERLAP_MS } from './pull-requests.js';
import { type Item, PER_PAGE, type Walk } from './walk.js';

export interface CommentKind {
  /** Of the webhook that tells of it. */
  readonly event: string;
  readonly list: 'issues' | 'pulls';
  /** What the memory calls it, before its id. */
  readonly fact: string;
  /** What it was said about, as the webhook tells it. Null: not known, and the comment is seen again next time. */
  readonly about: (walk: Walk, comment: Item) => Promise<Item | null>;
}

export async function lookAtCommentsOf(walk: Walk, kind: CommentKind): Promise<void> {
  const { memory, since } = walk.request;
  const query = { per_page: PER_PAGE, sort: 'updated', direction: 'desc', ...sinceQuery(walk) };
  const untilMs = since === null ? null : since.getTime() - OVERLAP_MS;
  const found = await walk.list(walk.path(kind.list, 'comments'), query, {
    isSorted: true,
    goesOn: (page) => untilMs !== null && (instantAt(page.at(-1), 'updated_at')?.getTime() ?? 0) >= untilMs,
  });
  for (const comment of found) {
    const id = idAt(comment, 'id');
    if (id === null) continue;
    const fact = `${kind.fact}/${id}`;
    const version = contentVersion('comment', textAt(comment, 'body'));
    const before = memory.get(fact)?.version ?? null;
    if (before === version) walk.stands(fact);
    else await noteComment(walk, kind, comment, { fact, version, before });
  }
}

interface Change {
  readonly fact: string;
  readonly version: string;
  readonly before: string | null;
}

async function noteComment(
  walk: Walk,
  { event, about }: CommentKind,
  comment: Item,
  { fact, version, before }: Change,
): Promise<void> {
  const isNews = before !== null || isYoung(walk, comment);
  if (walk.request.since === null || !isNews) {
    walk.note(fact, version, []);
    return;
  }
  const subject = await about(walk, comment);
  if (subject === null) return;
  const action = before === null ? 'created' : 'edited';
  walk.note(fact, version, [
    { event, payload: { ...subject, action, comment, sender: comment['user'] ?? null } },
  ]);
}

export const lookAtComments = (walk: Walk): Promise<void> =>
  lookAtCommentsOf(walk, { event: 'issue_comment', list: 'issues', fact: 'comment', about: aboutIssue });

async function aboutIssue(walk: Walk, comment: Item): Promise<Item | null> {
  const number = /\/issues\/(\d+)$/.exec(textAt(comment, 'issue_url') ?? '')?.[1];
  const issue = number === undefined ? null : await walk.one(walk.path('issues', number));
  return issue === null ? null : { issue };
}
