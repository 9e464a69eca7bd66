/** `paths` of a route and pull requests: which files one changes is read after the answer, and then it is filtered. */
import type { PullRequestRecord } from '@headgate/testkit/github';
import { describe, expect, test } from 'vitest';
import { aForge, type Forge } from './forge.js';

const HOOKED =
  'kind: github, token: "file:FOLDER/token", baseUrl: "API", webhookSecrets: [ "file:FOLDER/secret" ], scan: false, redeliver: 0';
const ROUTES = `
  source: { on: [ github.pull_request ], paths: [ "src/**" ], work: { key: "source/{{ target.id }}" } }
  all: { on: [ github.pull_request ], work: { key: "all/{{ target.id }}" } }
`;
const LONG_AGO = '2026-01-01T00:00:00Z';

interface Pulled {
  readonly forge: Forge;
  opened(): ReturnType<Forge['hook']>;
  read(): Promise<void>;
  /** Reason, route and rule of what was decided, in order. */
  decided(): Promise<readonly (readonly [string, string | null])[]>;
}

const named = (...names: readonly string[]) => names.map((filename) => ({ filename }));

async function aPull(files: PullRequestRecord['files'], source = HOOKED): Promise<Pulled> {
  const forge = await aForge({ source, routes: ROUTES });
  const sha = await forge.git.commit({ branch: 'topic', files: { 'a.txt': 'a' } });
  forge.repository.pulls.push({
    ...{ number: 7, headRef: 'topic', baseRef: 'main', title: 'A', body: null, state: 'open' },
    ...{ isMerged: false, isDraft: false, createdAt: LONG_AGO, updatedAt: LONG_AGO },
    ...(files === undefined ? {} : { files }),
  });
  return {
    forge,
    opened: () =>
      forge.hook('pull_request', {
        action: 'opened',
        number: 7,
        pull_request: {
          number: 7,
          head: { sha, ref: 'topic', repo: { id: 42 } },
          base: { ref: 'main', repo: { id: 42 } },
        },
      }),
    read: () => forge.world.reconciler().round('unresolved-heads'),
    decided: async () =>
      (
        await forge.world.rows<{ code: string; route: string | null }>(
          "select reason_code as code, route from headgate.receipt where kind = 'decision' order by id",
        )
      ).map(({ code, route }) => [code, route] as const),
  };
}

describe('a route with paths', () => {
  test('I7: waits for the list of files and takes what touches one; routes without paths do not wait', async () => {
    const { forge, opened, read, decided } = await aPull(named('README.md', 'src/a.ts'));
    await opened();
    expect(await decided()).toEqual([
      ['HEAD_UNRESOLVED', 'source'],
      ['ADMITTED', 'all'],
    ]);
    await read();
    expect((await decided()).slice(2)).toEqual([['ADMITTED', 'source']]);
    expect(await forge.runs()).toBe(2);
  });

  test('I7: refuses what touches none, under its rule; a file that was moved away counts under its old name', async () => {
    const other = await aPull(named('README.md'));
    await other.opened();
    await other.read();
    expect((await other.decided()).slice(2)).toEqual([['OUT_OF_SCOPE', null]]);

    const moved = await aPull([{ filename: 'lib/a.ts', previous_filename: 'src/a.ts' }]);
    await moved.opened();
    await moved.read();
    expect((await moved.decided()).slice(2)).toEqual([['ADMITTED', 'source']]);
  });

  test('reads page after page; of 3 000 files and more, what lies behind is not known, so it is not filtered', async () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_one, at) => ({ filename: `docs/${at}.md` }));
    const whole = await aPull([...many(250), { filename: 'src/last.ts' }]);
    await whole.opened();
    await whole.read();
    expect((await whole.decided()).slice(2)).toEqual([['ADMITTED', 'source']]);
    const pages = whole.forge.github.log.entries.filter(({ path }) => path.includes('/files'));
    expect(pages).toHaveLength(3);

    const cut = await aPull(many(3_001));
    await cut.opened();
    await cut.read();
    expect((await cut.decided()).slice(2)).toEqual([['ADMITTED', 'source']]);
    expect(cut.forge.github.log.entries.filter(({ path }) => path.includes('/files'))).toHaveLength(30);
  });

  test('with authority: source the files are read with the rest, and once for all routes', async () => {
    const { forge, opened, read, decided } = await aPull(named('README.md'), `${HOOKED}, authority: source`);
    await opened();
    await opened();
    await read();
    expect((await decided()).slice(2).map(([code, route]) => `${route} ${code}`)).toEqual([
      'all ADMITTED',
      'all DUPLICATE_WORK',
    ]);
    expect(forge.github.log.entries.filter(({ path }) => path.includes('/files'))).toHaveLength(1);
  });

  test('without credentials nobody can list them: the pull request is taken, and paths bound the result', async () => {
    const { opened, decided } = await aPull(
      named('README.md'),
      'kind: github, webhookSecrets: [ "file:FOLDER/secret" ]',
    );
    await opened();
    expect(await decided()).toEqual([
      ['ADMITTED', 'source'],
      ['ADMITTED', 'all'],
    ]);
  });
});
