/** Issues. */
import { at, idAt, instantAt, textAt } from '../fields.js';
import { contentVersion } from '../reading.js';
import { OVERLAP_MS } from './pull-requests.js';
import { type EventPayload, type Item, PER_PAGE, type Walk } from './walk.js';

/** Since the last look, with a little before it; everything in the first. */
export const sinceQuery = ({ request: { since } }: Walk): Record<string, string> =>
  since === null
    ? {}
    : { since: new Date(Math.floor((since.getTime() - OVERLAP_MS) / DAY_MS) * DAY_MS).toISOString() };
/** Rounded to days, so that the question stays the same and its answer can be the same. */
const DAY_MS = 86_400_000;

export const isYoung = ({ request: { since } }: Walk, item: Item): boolean => {
  const createdAt = instantAt(item, 'created_at');
  return since !== null && createdAt !== null && createdAt.getTime() >= since.getTime() - OVERLAP_MS;
};

export async function lookAtIssues(walk: Walk): Promise<void> {
  const { memory, since } = walk.request;
  const found = await walk.list(walk.path('issues'), issuesQuery(walk), { isSorted: true });
  for (const issue of found) {
    const number = idAt(issue, 'number');
    // The list holds pull requests, too.
    if (number === null || at(issue, 'pull_request') != null) continue;
    const fact = `issue/${number}`;
    const version = versionOf(issue);
    const before = memory.get(fact)?.version ?? null;
    if (before === version) walk.stands(fact);
    else walk.note(fact, version, since === null ? [] : eventsOf(walk, issue, before, version));
  }
}

export const issuesQuery = (walk: Walk): Record<string, string | number> => ({
  per_page: PER_PAGE,
  sort: 'updated',
  direction: 'desc',
  state: walk.request.since === null ? 'open' : 'all',
  ...sinceQuery(walk),
});

const labelsOf = (issue: Item): readonly Item[] => {
  const labels = issue['labels'];
  return Array.isArray(labels) ? labels.filter((one) => textAt(one, 'name') !== null) : [];
};

const SEPARATOR = '\u001f';

function versionOf(issue: Item): string {
  const content = contentVersion('content', textAt(issue, 'title'), textAt(issue, 'body'));
  const labels = labelsOf(issue)
    .map((label) => textAt(label, 'name'))
    .sort();
  return [textAt(issue, 'state') ?? '', content, ...labels].join(SEPARATOR);
}

/** The version that one had before these events, oldest first. Edits of its text are no events: as it is now. */
export function issueAsItWas(issue: Item, events: readonly Item[]): string {
  let state = textAt(issue, 'state');
  const labels = new Set(labelsOf(issue).map((label) => textAt(label, 'name')));
  for (const event of events.toReversed()) {
    const label = textAt(event, 'label', 'name');
    switch (textAt(event, 'event')) {
      case 'labeled':
        labels.delete(label);
        break;
      case 'unlabeled':
        labels.add(label);
        break;
      case 'closed':
        state = 'open';
        break;
      case 'reopened':
        state = 'closed';
        break;
    }
  }
  return versionOf({ ...issue, state, labels: [...labels].map((name) => ({ name })) });
}

function eventsOf(walk: Walk, issue: Item, before: string | null, now: string): readonly EventPayload[] {
  const event = (action: string, more: Item = {}): EventPayload => ({
    event: 'issues',
    payload: { ...more, action, issue, sender: issue['user'] ?? null },
  });
  const [state, content] = now.split(SEPARATOR);
  if (before === null) {
    return isYoung(walk, issue)
      ? [event('opened'), ...labelsOf(issue).map((label) => event('labeled', { label }))]
      : [];
  }
  const [wasState, wasContent, ...wasLabels] = before.split(SEPARATOR);
  if (wasState !== state) return [event(state === 'open' ? 'reopened' : 'closed')];
  const added = labelsOf(issue).filter((label) => !wasLabels.includes(textAt(label, 'name') ?? ''));
  return [
    ...(wasContent === content ? [] : [event('edited')]),
    ...added.map((label) => event('labeled', { label })),
  ];
}
