/** A repository without a commit: GitHub answers 409 to every ref of it. That is known, and neither a refusal nor a fault. */
import { describe, expect, test } from 'vitest';
import { aForge, type Forge } from './forge.js';

const HOOKED =
  'kind: github, token: "file:FOLDER/token", baseUrl: "API", webhookSecrets: [ "file:FOLDER/secret" ], authority: source, scan: false, redeliver: 0';
const ROUTES = '\n  pushes: { on: [ github.push ] }\n';

const anEmptyForge = (source = HOOKED): Promise<Forge> => aForge({ source, routes: ROUTES, commits: 0 });
const read = async (forge: Forge, times = 1): Promise<void> => {
  for (let n = 0; n < times; n += 1) {
    await forge.world.rows('update headgate.deferred_signal set due_at = clock_timestamp()');
    await forge.world.reconciler().round('unresolved-heads');
  }
};
const pushed = { ref: 'refs/heads/main', before: '0'.repeat(40), after: 'f'.repeat(40) };

describe('an empty repository', () => {
  test('I5: what a hook tells of it waits for the first commit, and is then decided by that', async () => {
    const forge = await anEmptyForge();
    expect(await forge.hook('push', pushed)).toMatchObject({
      outcome: 'defer',
      reasonCode: 'HEAD_UNRESOLVED',
    });
    await read(forge, 3);
    expect(await forge.receipts()).toHaveLength(1);
    const [waiting] = await forge.world.rows<{ tries: number }>('select tries from headgate.deferred_signal');
    expect(waiting?.tries).toBe(3);

    const sha = await forge.git.commit({ files: { 'a.txt': 'a' } });
    await read(forge);
    expect((await forge.receipts())[1]).toMatchObject({ reasonCode: 'ADMITTED', inputVersion: sha });
  });

  test('it is not waited for for ever: after about an hour the receipt says why', async () => {
    const forge = await anEmptyForge();
    await forge.hook('push', pushed);
    await read(forge, 12);
    const [, refused] = await forge.receipts();
    expect(refused).toMatchObject({ reasonCode: 'HEAD_UNRESOLVED' });
    expect(refused?.message).toContain('The repository is empty. It was looked at 12 times.');
    expect(await forge.world.rows('select 1 from headgate.deferred_signal')).toEqual([]);
    expect(await forge.runs()).toBe(0);
  });

  test('I10: looking finds nothing there, and its first branch is news', async () => {
    const forge = await anEmptyForge('kind: github, token: "file:FOLDER/token", baseUrl: "API", poll: true');
    await forge.look();
    await forge.look();
    expect(await forge.watermark()).toMatchObject({ outcome: 'looked', detail: null });
    const sha = await forge.git.commit({ files: { 'a.txt': 'a' } });
    await forge.look();
    const found = (await forge.receipts()).slice(1);
    expect(found).toMatchObject([{ reasonCode: 'ADMITTED', type: 'github.push', inputVersion: sha }]);
    await forge.look();
    expect(await forge.runs()).toBe(1);
  });
});
