/** `.headgate.yaml` of a repository that only its signals name: no url, so the forge's API is asked. */
import { Admission } from '@headgate/admission';
import type { SignalAnswer } from '@headgate/domain';
import { aPolicy, aRoute, aSignal, aSource, atEnd, BareRepository, FakeGitHub } from '@headgate/testkit';
import { describe, expect, test } from 'vitest';
import { aWorld, type World } from './world.js';

const TOKEN_NAME = 'HEADGATE_TEST_FILE_TOKEN';

interface FileWorld {
  readonly world: World;
  readonly git: BareRepository;
  readonly github: FakeGitHub;
  submit(number?: string): Promise<SignalAnswer>;
  /** The reader's turn, then the promoter's. */
  turn(): Promise<void>;
  receipts(): Promise<readonly { reason: string; sha: string | null; message: string }[]>;
}

async function fileWorld(file: string | null, commits = 3): Promise<FileWorld> {
  process.env[TOKEN_NAME] = 'ghp_test';
  const git = await BareRepository.create({ commits });
  if (file !== null) await git.commit({ files: { '.headgate.yaml': file } });
  const github = await FakeGitHub.start();
  atEnd(() => github.stop());
  github.addRepository({ id: 42, fullName: 'acme/api', git });
  const source = aSource({ token: `\${${TOKEN_NAME}}`, baseUrl: github.url, repositories: [] });
  const route = aRoute({ repositoryFile: { allow: ['verify'] } });
  const world = await aWorld({ policy: aPolicy({ sources: [source], routes: [route] }) });
  const { database, dimensions, ids, logger, policy } = world.context;
  const admission = new Admission({
    ...{ pool: database.service, dimensions, ids, logger },
    policy: () => policy.current(),
  });
  const reconciler = world.reconciler();
  return {
    world,
    git,
    github,
    submit: (number = '7') =>
      admission.submit({
        signal: aSignal({
          repository: { externalId: '42', fullName: 'acme/api', defaultBranch: 'main' },
          target: { kind: 'pull_request', id: number, ref: 'topic', aspect: 'unit' },
        }),
        tenant: 'default',
        payload: null,
      }),
    turn: async () => {
      await reconciler.round('repository-files');
      await admission.promoteDue(50);
    },
    receipts: () =>
      world.rows(
        `select reason_code as reason, repository_config_sha as sha, message
           from headgate.receipt where kind = 'decision' order by id`,
      ),
  };
}

/** So that the next signal asks again. */
const age = ({ world }: FileWorld) =>
  world.rows("update headgate.repository_file set read_at = read_at - interval '10 minutes'");
const reasons = async (place: FileWorld) => (await place.receipts()).map(({ reason }) => reason);

describe('.headgate.yaml of a repository without a url', () => {
  test('I7: is read at the default branch’s head and narrows the run; standing, it costs nothing of the limit', async () => {
    const place = await fileWorld('version: 1\nmode: propose\n');
    expect((await place.submit()).reasonCode).toBe('REPOSITORY_CONFIG_PENDING');
    await place.turn();
    const [, admitted] = await place.receipts();
    expect(admitted).toMatchObject({ reason: 'ADMITTED', sha: expect.stringMatching(/^[0-9a-f]{40}$/) });
    expect(await place.world.rows("select spec ->> 'mode' as mode from headgate.run")).toEqual([
      { mode: 'propose' },
    ]);

    const spent = place.github.rate.used;
    await age(place);
    await place.submit('8');
    await place.turn();
    expect(place.github.rate.used).toBe(spent);
    expect((await reasons(place)).at(-1)).toBe('ADMITTED');
  });

  test('I7: no file changes nothing; an invalid one defers until it is mended', async () => {
    const none = await fileWorld(null);
    await none.submit();
    await none.turn();
    expect(await reasons(none)).toEqual(['REPOSITORY_CONFIG_PENDING', 'ADMITTED']);

    const broken = await fileWorld('version: 1\nmode: nonsense\n');
    await broken.submit();
    await broken.turn();
    expect((await reasons(broken)).at(-1)).toBe('REPOSITORY_CONFIG_INVALID');
    expect(await broken.world.rows('select 1 from headgate.run')).toEqual([]);
    await broken.git.commit({ files: { '.headgate.yaml': 'version: 1\nmode: propose\n' } });
    await age(broken);
    await broken.turn();
    await broken.turn();
    expect((await reasons(broken)).at(-1)).toBe('ADMITTED');
  });

  test('I7: a repository without a commit has none, and keeps nothing waiting', async () => {
    const place = await fileWorld(null, 0);
    await place.submit();
    await place.turn();
    expect(await reasons(place)).toEqual(['REPOSITORY_CONFIG_PENDING', 'ADMITTED']);
  });

  test('I7: what cannot be read is never taken for absent: not in an outage, not where nothing can be seen', async () => {
    const place = await fileWorld('version: 1\nenabled: false\n');
    await place.submit();
    place.github.failNext({ fault: { kind: 'forbidden' }, path: /git\/trees/, count: 9 });
    await place.turn();
    expect(await reasons(place)).not.toContain('ADMITTED');
    expect(await place.world.rows('select 1 from headgate.run')).toEqual([]);
    place.github.clearFaults();
    await age(place);
    await place.turn();
    await place.turn();
    expect((await reasons(place)).at(-1)).toBe('OUT_OF_SCOPE');
  });
});
