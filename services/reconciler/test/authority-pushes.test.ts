/** `authority: source` and `paths`: which files a push changed is what GitHub lists, not what its payload says. */
import { armFailPoint, disarmAllFailPoints } from '@headgate/telemetry';
import { afterEach, describe, expect, test } from 'vitest';
import { aForge, type Forge } from './forge.js';

afterEach(disarmAllFailPoints);

const SOURCE =
  'kind: github, token: "file:FOLDER/token", baseUrl: "API", webhookSecrets: [ "file:FOLDER/secret" ], authority: source, scan: false, redeliver: 0';
const ROUTES = '\n  src: { on: [ github.push ], paths: [ "src/**" ] }\n';
const NOBODY = '0'.repeat(40);

const awake = (routes = ROUTES): Promise<Forge> => aForge({ source: SOURCE, routes });
const read = (forge: Forge): Promise<void> => forge.world.reconciler().round('unresolved-heads');
const headOf = async (forge: Forge, branch = 'main'): Promise<string> => (await forge.git.head(branch)) ?? '';
const compared = (forge: Forge) => forge.github.log.entries.filter(({ path }) => path.includes('/compare/'));
const decided = async (forge: Forge) =>
  (await forge.receipts()).filter((one) => one.reasonCode !== 'HEAD_UNRESOLVED');

/** As a liar would write it: the files of its commits are made up. */
const tell = (forge: Forge, before: string, file = 'src/made-up.ts', ref = 'refs/heads/main') =>
  forge.hook('push', {
    ...{ ref, before, after: 'f'.repeat(40) },
    commits: [{ id: 'f'.repeat(40), added: [file], modified: [], removed: [] }],
    head_commit: { id: 'f'.repeat(40), message: 'mine' },
  });

async function commits(forge: Forge, ...files: readonly string[]): Promise<string> {
  const before = await headOf(forge);
  for (const name of files) await forge.git.commit({ files: { [name]: name } });
  return before;
}

describe('a push that only woke', () => {
  test('I6, I7: is taken for a file that GitHub lists among all of its commits, whatever the payload says', async () => {
    const forge = await awake();
    const before = await commits(forge, 'src/a.ts', 'README.md');
    await tell(forge, before, 'docs/made-up.md');
    await read(forge);
    expect(await decided(forge)).toMatchObject([
      {
        reasonCode: 'ADMITTED',
        inputVersion: await headOf(forge),
        message: expect.not.stringContaining('known'),
      },
    ]);
  });

  test('I6, I7: is refused where the file that it names was not changed, and refuses nothing for the true one', async () => {
    const forge = await awake();
    const before = await commits(forge, 'README.md');
    await tell(forge, before, 'src/made-up.ts');
    await read(forge);
    expect(await decided(forge)).toMatchObject([{ reasonCode: 'OUT_OF_SCOPE' }]);
    expect(await forge.runs()).toBe(0);
    // It hid a commit by naming a later one to compare with: whoever tells the truth is heard.
    const truly = await commits(forge, 'src/a.ts', 'NOTES.md');
    const [, parent] = (await forge.git.history()).map(({ sha }) => sha);
    await tell(forge, parent ?? '');
    await tell(forge, truly);
    await read(forge);
    expect((await decided(forge)).map(({ reasonCode }) => reasonCode).sort()).toEqual([
      'ADMITTED',
      'OUT_OF_SCOPE',
      'OUT_OF_SCOPE',
    ]);
  });

  test('I7: a file that was moved away counts under its old name; of a forced push what is new counts', async () => {
    const moved = await awake();
    await commits(moved, 'src/a.ts');
    const at = await headOf(moved);
    await moved.git.commit({ files: { 'src/a.ts': null, 'lib/a.ts': 'src/a.ts' } });
    await tell(moved, at);
    await read(moved);
    expect(await decided(moved)).toMatchObject([{ reasonCode: 'ADMITTED' }]);

    const forced = await awake();
    const base = await commits(forced, 'src/gone.ts');
    const gone = await headOf(forced);
    await forced.git.setBranch('main', base);
    await commits(forced, 'README.md');
    await tell(forced, gone);
    await read(forced);
    expect(await decided(forced)).toMatchObject([{ reasonCode: 'OUT_OF_SCOPE' }]);
  });

  test('I7: of a new branch what it has beyond the default branch counts', async () => {
    const forge = await awake();
    await commits(forge, 'src/main.ts');
    await forge.git.commit({ branch: 'topic', files: { 'README.md': 'topic' } });
    await tell(forge, NOBODY, 'src/made-up.ts', 'refs/heads/topic');
    await forge.git.commit({ branch: 'other', files: { 'src/b.ts': 'b' } });
    await tell(forge, NOBODY, 'docs/made-up.md', 'refs/heads/other');
    await read(forge);
    const codes = (await decided(forge)).map(({ workKey, reasonCode }) => [workKey, reasonCode]);
    expect(codes).toContainEqual(['42/branch/other', 'ADMITTED']);
    expect(codes.map(([, code]) => code).sort()).toEqual(['ADMITTED', 'OUT_OF_SCOPE']);
  });

  test.each([
    [
      'has changed more than GitHub lists',
      async (forge: Forge) => {
        const before = await headOf(forge);
        const many = Object.fromEntries(Array.from({ length: 301 }, (_, n) => [`docs/${n}.md`, `${n}`]));
        await forge.git.commit({ files: many });
        return before;
      },
    ],
    [
      'came from a commit that nobody knows',
      async (forge: Forge) => {
        await commits(forge, 'README.md');
        return 'e'.repeat(40);
      },
    ],
    [
      'says that it moved nothing',
      async (forge: Forge) => {
        await commits(forge, 'README.md');
        return headOf(forge);
      },
    ],
    [
      'was moved back',
      async (forge: Forge) => {
        const before = await commits(forge, 'README.md');
        const ahead = await headOf(forge);
        await forge.git.setBranch('main', before);
        return ahead;
      },
    ],
    [
      'names no commit at all',
      async (forge: Forge) => {
        await commits(forge, 'README.md');
        return 'main...evil:main';
      },
    ],
    [
      'is the first of the default branch',
      async (forge: Forge) => {
        await commits(forge, 'README.md');
        return NOBODY;
      },
    ],
  ])('I7: that %s is not filtered by its files, and its receipt says so', async (_what, push) => {
    const forge = await awake();
    await tell(forge, await push(forge));
    await read(forge);
    expect(await decided(forge)).toMatchObject([
      { reasonCode: 'ADMITTED', message: expect.stringContaining('Not all files that it changes are known') },
    ]);
    expect(compared(forge).length).toBeLessThanOrEqual(1);
  });

  test('I6: is one question, and none where no route asks for files', async () => {
    const one = await awake();
    const before = await commits(one, 'src/a.ts');
    for (let wake = 0; wake < 10; wake += 1) await tell(one, before);
    await read(one);
    expect(compared(one)).toHaveLength(1);
    expect(await one.runs()).toBe(1);

    const none = await awake('\n  all: { on: [ github.push ] }\n');
    await tell(none, await commits(none, 'src/a.ts'));
    await read(none);
    expect(compared(none)).toEqual([]);
    expect(await none.runs()).toBe(1);
  });

  test('I6: while GitHub does not compare, it waits; nothing is guessed', async () => {
    const forge = await awake();
    await tell(forge, await commits(forge, 'README.md'));
    const failing = { kind: 'bad-gateway', when: 'before' } as const;
    forge.github.failNext({ fault: failing, path: /compare/, count: 9 });
    await read(forge);
    expect(await decided(forge)).toEqual([]);
    forge.github.clearFaults();
    await forge.world.rows('update headgate.deferred_signal set due_at = clock_timestamp()');
    await read(forge);
    expect(await decided(forge)).toMatchObject([{ reasonCode: 'OUT_OF_SCOPE' }]);
  });

  test('I6: the branch moves between the read and the decision: what was read is decided, and the next push is its own', async () => {
    const forge = await awake();
    const before = await commits(forge, 'README.md');
    const first = await headOf(forge);
    await tell(forge, before);
    const stopped = armFailPoint('heads.read', 'hold@1');
    const reading = read(forge);
    await stopped.reached;
    await commits(forge, 'src/a.ts');
    const woken = await tell(forge, first);
    stopped.release();
    await reading;
    expect(woken.reasonCode).toBe('HEAD_UNRESOLVED');
    await read(forge);
    expect(await decided(forge)).toMatchObject([
      { reasonCode: 'OUT_OF_SCOPE', inputVersion: first },
      { reasonCode: 'ADMITTED', inputVersion: await headOf(forge) },
    ]);
  });
});
