/** `.headgate.yaml`: read by the reconciler for the signals that wait for it, from a real repository. */
import { Admission } from '@headgate/admission';
import type { SignalAnswer } from '@headgate/domain';
import { repositoryFiles } from '@headgate/store';
import { armFailPoint, disarmAllFailPoints } from '@headgate/telemetry';
import { aPolicy, aRoute, aSignal, aSource, atEnd, BareRepository } from '@headgate/testkit';
import { afterEach, describe, expect, test } from 'vitest';
import { aWorld, type World } from './world.js';

afterEach(() => disarmAllFailPoints());

interface FileWorld {
  readonly world: World;
  readonly repository: BareRepository;
  submit(number?: string): Promise<SignalAnswer>;
  promote(): Promise<number>;
  receipts(): Promise<readonly ReceiptRow[]>;
}
interface ReceiptRow {
  readonly reason: string;
  readonly sha: string | null;
  readonly parent: string | null;
  readonly rule: string;
  readonly message: string;
}

async function fileWorld(files: Readonly<Record<string, string>> = {}): Promise<FileWorld> {
  const repository = await BareRepository.create();
  atEnd(() => repository.remove());
  if (Object.keys(files).length > 0) await repository.commit({ files });
  const source = aSource({
    repositories: [{ fullName: 'acme/api', url: repository.path, defaultBranch: 'main', ciTrusted: true }],
  });
  const route = aRoute({ repositoryFile: { allow: ['verify'] } });
  const world = await aWorld({ policy: aPolicy({ sources: [source], routes: [route] }) });
  const { context } = world;
  const admission = new Admission({
    pool: context.database.service,
    dimensions: context.dimensions,
    ids: context.ids,
    logger: context.logger,
    policy: () => context.policy.current(),
  });
  return {
    world,
    repository,
    submit: (number = '7') =>
      admission.submit({
        signal: aSignal({
          repository: { externalId: '42', fullName: 'acme/api', defaultBranch: 'main' },
          target: { kind: 'pull_request', id: number, ref: 'topic', aspect: 'unit' },
        }),
        tenant: 'default',
        payload: null,
      }),
    promote: () => admission.promoteDue(50),
    receipts: () =>
      world.rows<ReceiptRow>(
        `select reason_code as reason, repository_config_sha as sha, parent_receipt_id as parent, rule, message
           from headgate.receipt where kind = 'decision' order by id`,
      ),
  };
}

const read = async ({ world }: FileWorld): Promise<void> => world.reconciler().round('repository-files');
const specOf = async ({ world }: FileWorld) =>
  (await world.rows<{ spec: Record<string, unknown> }>('select spec from headgate.run'))[0]?.spec;

describe('.headgate.yaml of a repository', () => {
  test('I7: a signal waits until it was read, then the run is narrowed, and the blob stands on the receipt', async () => {
    const place = await fileWorld({
      '.headgate.yaml':
        'version: 1\nmode: propose\nlimits: { costUsd: 0.5 }\nprotectedPaths: [ db/** ]\nsetup: [ npm ci ]\nverify: [ make check ]\n',
    });
    const waiting = await place.submit();
    expect(waiting).toMatchObject({ outcome: 'defer', reasonCode: 'REPOSITORY_CONFIG_PENDING', runId: null });
    expect(await place.promote()).toBe(0);

    await read(place);
    expect(await place.promote()).toBe(1);

    expect(await specOf(place)).toMatchObject({
      mode: 'propose',
      limits: { costUsd: 0.5 },
      protectedPaths: ['.github/**', 'db/**'],
      setup: [],
      verify: ['npm test', 'make check'],
    });
    const [first, second] = await place.receipts();
    const blob = (
      await place.world.rows<{ blob_sha: string }>('select blob_sha from headgate.repository_file')
    )[0];
    expect(first).toMatchObject({ sha: null, rule: 'headgate.yaml' });
    expect(second).toMatchObject({ reason: 'ADMITTED', parent: waiting.receiptId, sha: blob?.blob_sha });
    expect(second?.sha).toMatch(/^[0-9a-f]{40}$/);
    expect(second?.message).toContain('does not let .headgate.yaml add setup');
  });

  test('I7: no file changes nothing, and the next signal does not wait', async () => {
    const place = await fileWorld();
    await place.submit();
    await read(place);
    await place.promote();
    expect(await place.submit('8')).toMatchObject({ reasonCode: 'ADMITTED' });
    expect((await place.receipts()).map(({ sha }) => sha)).toEqual([null, null, null]);
  });

  test('I7: a repository that has opted out is out of scope, under the rule of its file', async () => {
    const place = await fileWorld({ '.headgate.yaml': 'version: 1\nenabled: false\n' });
    await place.submit();
    await read(place);
    await place.promote();
    expect((await place.receipts())[1]).toMatchObject({
      reason: 'OUT_OF_SCOPE',
      rule: 'headgate.yaml.enabled',
    });
    expect(await place.world.rows('select 1 from headgate.run')).toEqual([]);
  });

  test('I7: an invalid file defers, never an old one or none; mended, the signal goes on', async () => {
    const place = await fileWorld({ '.headgate.yaml': 'version: 1\nmod: propose\n' });
    await place.submit();
    await read(place);
    await place.promote();
    const broken = (await place.receipts())[1];
    expect(broken).toMatchObject({ reason: 'REPOSITORY_CONFIG_INVALID' });
    expect(broken?.message).toContain('Did you mean "mode"?');
    expect(await place.world.rows('select 1 from headgate.run')).toEqual([]);

    await place.repository.commit({ files: { '.headgate.yaml': 'version: 1\nmode: propose\n' } });
    // Nobody tells of the push; what waits for a broken file is looked at again.
    await place.world.rows("update headgate.repository_file set read_at = read_at - interval '6 minutes'");
    await read(place);
    expect(await place.promote()).toBe(1);
    expect(await specOf(place)).toMatchObject({ mode: 'propose' });
  });

  test('I7: a link, and a repository that cannot be read, are unreadable and not absent', async () => {
    const place = await fileWorld();
    await place.submit();
    await place.repository.remove();
    await read(place);
    await place.promote();
    expect((await place.receipts())[1]).toMatchObject({ reason: 'REPOSITORY_CONFIG_INVALID' });
    const [row] = await place.world.rows<{ state: string }>('select state from headgate.repository_file');
    expect(row?.state).toBe('unreadable');
  });

  test('I7: a push to the default branch makes what was read old at once; one to another branch does not', async () => {
    const place = await fileWorld();
    await place.submit();
    await read(place);
    await place.promote();
    const { context } = place.world;
    const admission = new Admission({
      pool: context.database.service,
      dimensions: context.dimensions,
      ids: context.ids,
      logger: context.logger,
      policy: () => context.policy.current(),
    });
    const push = (branch: string) =>
      admission.submit({
        signal: aSignal({
          type: 'github.push',
          repository: { externalId: '42', fullName: 'acme/api', defaultBranch: 'main' },
          target: { kind: 'branch', id: branch, ref: branch, aspect: null },
        }),
        tenant: 'default',
        payload: null,
      });
    await push('topic');
    expect(await place.submit('8')).toMatchObject({ reasonCode: 'ADMITTED' });
    await push('main');
    expect(await place.submit('9')).toMatchObject({ reasonCode: 'REPOSITORY_CONFIG_PENDING' });
  });

  test('Q27: a reconciler that dies while it reads: its claim runs out, another reads, and it writes nothing late', async () => {
    const place = await fileWorld({ '.headgate.yaml': 'version: 1\n' });
    await place.submit();
    armFailPoint('reconciler.file.read', 'throw');
    await read(place);
    disarmAllFailPoints();
    await read(place);
    expect(await place.promote()).toBe(0);
    const pool = place.world.context.database.service;
    const claimAll = () =>
      pool.transaction((c) => repositoryFiles.claim(c, { limit: 5, claimMs: 60_000, againMs: 60_000 }));
    expect(await claimAll()).toEqual([]);
    await place.world.rows(
      "update headgate.repository_file set claimed_until = clock_timestamp() - interval '1 s'",
    );
    const [slow] = await claimAll();
    if (slow === undefined) throw new Error('nothing to claim');
    await place.world.rows(
      "update headgate.repository_file set claimed_until = clock_timestamp() - interval '1 s'",
    );
    await read(place);
    const late = await pool.transaction((c) =>
      repositoryFiles.settle(c, slow, { kind: 'unreadable', detail: 'late' }, false),
    );
    expect(late).toBe(false);
    expect(await place.promote()).toBe(1);
    expect((await place.receipts())[1]).toMatchObject({ reason: 'ADMITTED' });
  });

  test('I7: a signal that is deferred while the reader settles is released by it', async () => {
    const place = await fileWorld();
    await place.submit();
    const pool = place.world.context.database.service;
    const [claimed] = await pool.transaction((c) =>
      repositoryFiles.claim(c, { limit: 5, claimMs: 60_000, againMs: 60_000 }),
    );
    if (claimed === undefined) throw new Error('nothing to claim');
    // Stands before its commit, with the file's row locked, when the reader comes to settle.
    let settled: Promise<boolean> | null = null;
    await pool.transaction(async (c) => {
      await repositoryFiles.request(c, [{ ...claimed, hasMoved: false }]);
      await c.query(
        `insert into headgate.deferred_signal (id, tenant_id, receipt_id, reason_code, due_at, candidate, repository_file_id)
         select gen_random_uuid(), tenant_id, receipt_id, reason_code, 'infinity', candidate, repository_file_id
           from headgate.deferred_signal`,
      );
      settled = pool.transaction((other) =>
        repositoryFiles.settle(other, claimed, { kind: 'absent', commitSha: null }, true),
      );
    });
    expect(await settled).toBe(true);
    const due = await place.world.rows(
      'select 1 from headgate.deferred_signal where due_at <= clock_timestamp()',
    );
    expect(due).toHaveLength(2);
  });
});
