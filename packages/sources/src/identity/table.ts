/** The table of work keys in docs/sources.md: made here from the rules, compared with the document by a test. */
import { EVENT_RULES } from '../github/rules.js';
import { anyOther } from '../github/rules-talk.js';

export interface IdentityRow {
  readonly signal: string;
  readonly key: string;
  readonly version: string;
  readonly order: string;
}

export function identityTable(): readonly IdentityRow[] {
  const events = Object.entries(EVENT_RULES).map(([event, { words }]) => ({
    signal: `github.${event}`,
    ...words,
    key: `{repo}/ + ${words.key}`,
  }));
  const { words } = anyOther('{event}');
  return [
    ...events,
    { signal: 'any other event', ...words, key: `{repo}/ + ${words.key}` },
    {
      signal: 'schedule',
      key: '{repo}/schedule/{schedule id}',
      version: 'head SHA; without a repository the nominal time',
      order: 'set by the ticker',
    },
    {
      signal: 'goal',
      key: '{repo}/goal/{goal id}',
      version: 'head SHA; without a repository the nominal time',
      order: 'set by the observer',
    },
    {
      signal: 'manual',
      key: '`workKey` as given, else {repo}/manual/{route}/ + pr/{n}, branch/{ref} or issue/{n}, nothing for the repository as a whole',
      version: '`inputVersion` as given, else head SHA; without a repository each call is its own',
      order: 'unknown',
    },
  ];
}

/** As Markdown. */
export function identityMarkdown(): string {
  const rows = identityTable().map((it) => `| ${it.signal} | ${it.key} | ${it.version} | ${it.order} |`);
  return [
    '| signal | work key | input version | order of versions |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}
