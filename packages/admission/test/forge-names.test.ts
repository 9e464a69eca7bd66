import { describe, expect, it } from 'vitest';
import { sha, submissionOf } from '../../../test/world/signals.js';
import { anAdmission, aWorld, type World } from '../../../test/world/world.js';

const rows = (world: World) =>
  world.sql<Record<string, unknown>>(
    `select forge_id as id, full_name as name, configured_name as configured, removed_at is not null as removed,
            suspended_at is not null as suspended from headgate.forge_repository order by forge_id`,
  );
const named = (fullName: string) => ({ externalId: '42', fullName, defaultBranch: 'main' });
const about = (fullName: string, more: object = {}) => ({
  repository: named(fullName),
  data: { repository: { id: 42, full_name: fullName }, check_run: { conclusion: 'failure' }, ...more },
});

describe('repositories as their forge numbers them', () => {
  it('I4: a renamed or transferred repository stays the same work and the same configuration', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const first = await admission.submit(submissionOf(about('acme/api')));
    const again = await admission.submit(submissionOf(about('other/service')));
    expect(again).toMatchObject({ reasonCode: 'DUPLICATE_WORK', runId: first.runId });

    const next = await admission.submit(submissionOf({ ...about('other/service'), inputVersion: sha('b') }));
    expect(next.reasonCode).toBe('ADMITTED');
    const [run] = await world.sql<{ url: string }>(
      "select spec -> 'repository' ->> 'url' as url from headgate.run order by id desc limit 1",
    );
    expect(run?.url).toContain('/nowhere/api.git');
    expect(await rows(world)).toEqual([
      { id: '42', name: 'other/service', configured: 'acme/api', removed: false, suspended: false },
    ]);
  });

  it('follows an installation: repositories added, removed, suspended and there again', async () => {
    const world = await aWorld();
    const { admission } = anAdmission(world);
    const tell = (type: string, action: string, data: object) =>
      admission.submit(
        submissionOf({
          type: `github.${type}.${action}`,
          repository: null,
          target: null,
          inputVersion: null,
          data: { action, installation: { id: 9 }, ...data },
        }),
      );
    const api = { id: 42, full_name: 'acme/api' };
    const web = { id: 43, full_name: 'acme/web' };
    await tell('installation', 'created', { repositories: [api] });
    await tell('installation_repositories', 'added', { repositories_added: [web], repositories_removed: [] });
    await tell('installation_repositories', 'removed', {
      repositories_added: [],
      repositories_removed: [api],
    });
    expect(await rows(world)).toMatchObject([
      { id: '42', removed: true },
      { id: '43', removed: false, configured: null },
    ]);
    await tell('installation', 'suspend', { repositories: [api, web] });
    expect(await rows(world)).toMatchObject([{ suspended: true }, { suspended: true }]);
    await tell('installation', 'unsuspend', { repositories: [api, web] });
    expect(await rows(world)).toMatchObject([
      { removed: false, suspended: false },
      { removed: false, suspended: false },
    ]);
    // Each has its receipt all the same.
    expect(await world.sql('select 1 from headgate.receipt')).toHaveLength(5);
  });
});
