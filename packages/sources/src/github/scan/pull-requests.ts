import { at, commitAt, idAt, instantAt, textAt } from '../fields.js';
import { type EventPayload, type Item, PER_PAGE, type Walk } from './walk.js';

/** Lists are read back a little further than the last look: clocks differ, and an edit may land late. */
export const OVERLAP_MS = 300_000;

export interface PullsSeen {
  /** Those that moved since the last look; in the first one all that are open. */
  readonly moved: readonly Item[];
  /** The heads of the open ones of this repository itself. */
  readonly heads: readonly string[];
}

/** Notes the state of each pull request. */
export async function lookAtPullRequests(walk: Walk, tells: boolean): Promise<PullsSeen> {
  const { memory, since } = walk.request;
  const { query, options } = pullsQuery(walk);
  const found = await walk.list(walk.path('pulls'), query, options);
  const open = new Map<string, string>();
  for (const [fact, { version }] of memory) {
    const [state = '', , sha = '', home = ''] = fact.startsWith('pr/') ? version.split(':') : [];
    if (state === 'open' && home === 'own') open.set(fact, sha);
  }
  for (const pull of found) {
    const number = idAt(pull, 'number');
    const sha = commitAt(pull, 'head', 'sha');
    if (number === null || sha === null) continue;
    const fact = `pr/${number}`;
    const version = versionOf(pull, sha);
    if (version.startsWith('open:') && version.endsWith(':own')) open.set(fact, sha);
    else open.delete(fact);
    const before = memory.get(fact)?.version ?? null;
    if (before === version) walk.stands(fact);
    else walk.note(fact, version, tells && since !== null ? eventsOf(walk, pull, before, version) : []);
  }
  return { moved: found, heads: [...open.values()] };
}

/** The first look notes what is open; later ones follow what moves. */
export function pullsQuery({ request: { since } }: Walk) {
  const untilMs = since === null ? null : since.getTime() - OVERLAP_MS;
  return {
    query: { per_page: PER_PAGE, sort: 'updated', direction: 'desc', state: since === null ? 'open' : 'all' },
    options: {
      isSorted: true,
      goesOn: (page: readonly Item[]) => untilMs === null || oldest(page) >= untilMs,
    },
  };
}

const oldest = (page: readonly Item[]): number => instantAt(page.at(-1), 'updated_at')?.getTime() ?? 0;

/** `open:draft:{sha}:own`, `closed:ready:{sha}:fork`. */
function versionOf(pull: Item, sha: string): string {
  const home = idAt(pull, 'head', 'repo', 'id') === idAt(pull, 'base', 'repo', 'id') ? 'own' : 'fork';
  const draft = at(pull, 'draft') === true ? 'draft' : 'ready';
  return `${textAt(pull, 'state') === 'open' ? 'open' : 'closed'}:${draft}:${sha}:${home}`;
}

/** The version that one had when its head was `sha`. Whether it was a draft nobody keeps: as it is now. */
export function pullAsItWas(pull: Item, sha: string, at: Date): string {
  const closedAt = instantAt(pull, 'closed_at');
  const wasOpen = closedAt !== null && closedAt.getTime() >= at.getTime();
  return versionOf(wasOpen ? { ...pull, state: 'open' } : pull, sha);
}

function eventsOf(
  { request }: Walk,
  pull: Item,
  before: string | null,
  now: string,
): readonly EventPayload[] {
  const [state = '', draft = '', sha = ''] = now.split(':');
  const event = (action: string, more: Item = {}): EventPayload => ({
    event: 'pull_request',
    payload: {
      ...more,
      action,
      number: pull['number'],
      pull_request: { ...pull, merged: pull['merged_at'] != null },
      sender: pull['user'] ?? null,
    },
  });
  if (before === null) {
    const createdAt = instantAt(pull, 'created_at');
    // One that was there before the last look, and was not noted: closed, or beyond what a look reads. No news.
    const isNew =
      createdAt !== null &&
      request.since !== null &&
      createdAt.getTime() >= request.since.getTime() - OVERLAP_MS;
    return isNew && state === 'open' ? [event('opened')] : [];
  }
  const [wasState = '', wasDraft = '', wasSha = ''] = before.split(':');
  if (state === 'closed') return wasState === 'open' ? [event('closed')] : [];
  const events: EventPayload[] = [];
  if (wasState === 'closed') events.push(event('reopened'));
  if (wasSha !== sha) events.push(event('synchronize', { before: wasSha, after: sha }));
  if (wasDraft === 'draft' && draft === 'ready') events.push(event('ready_for_review'));
  if (wasDraft === 'ready' && draft === 'draft') events.push(event('converted_to_draft'));
  return events;
}
