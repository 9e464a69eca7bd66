/** I10: comments on pull requests that give no command are found beside a hook that lost them, and are heard once. */
import { armFailPoint, disarmAllFailPoints } from '@headgate/telemetry';
import { afterEach, describe, expect, test } from 'vitest';
import { aForge, type Forge } from './forge.js';
import { sessionsWait } from './locks.js';

afterEach(disarmAllFailPoints);

const HOOKED =
  'kind: github, token: "file:FOLDER/token", baseUrl: "API", webhookSecrets: [ "file:FOLDER/secret" ], scan: { every: 30s }, self: { logins: [ "headgate[bot]" ] }';
const LISTENING = '\n  talk: { on: [ github.issue_comment ] }\n';
const ADA = { id: 5, login: 'ada', type: 'User' };
const now = (): string => new Date().toISOString();

async function withPull(source = HOOKED, routes = LISTENING): Promise<Forge> {
  const forge = await aForge({ source, routes });
  await forge.git.commit({ branch: 'topic', files: { 'a.txt': 'a' } });
  forge.repository.pulls.push({
    ...{ number: 7, headRef: 'topic', baseRef: 'main', title: 'A', body: null, state: 'open' },
    ...{ isMerged: false, isDraft: false, createdAt: now(), updatedAt: now() },
  });
  forge.repository.issues.push({
    ...{ number: 7, title: 'A', body: null, state: 'open', updated_at: now() },
    pull_request: {},
  });
  await forge.look();
  return forge;
}

function say(forge: Forge, id: number, body = 'Have you seen this?', user = ADA): void {
  const at = now();
  forge.repository.comments.push({ id, issueNumber: 7, body, user, createdAt: at, updatedAt: at });
}
function edit(forge: Forge, id: number, body: string): void {
  const comment = forge.repository.comments.find((one) => one.id === id);
  if (comment === undefined) throw new Error('no comment');
  Object.assign(comment, { body, updatedAt: now() });
}
const hook = (forge: Forge, id: number, action = 'created', body = 'Have you seen this?', user = ADA) =>
  forge.hook('issue_comment', {
    action,
    issue: { number: 7, title: 'A', body: null, pull_request: {} },
    comment: { id, body, created_at: now(), updated_at: now(), user },
    sender: user,
  });
const readHeads = (forge: Forge): Promise<void> => forge.world.reconciler().round('unresolved-heads');
const moveHead = (forge: Forge, name: string): Promise<string> =>
  forge.git.commit({ branch: 'topic', files: { [name]: name } });
const codes = async (forge: Forge): Promise<string[]> =>
  (await forge.receipts()).map((one) => one.reasonCode).filter((code) => code !== 'NOTHING_FOUND');

describe('a comment on a pull request', () => {
  test('I10: that the hook lost is found once; the hook that comes late brings nothing new', async () => {
    const forge = await withPull();
    say(forge, 9);
    await forge.look();
    await forge.look();
    await readHeads(forge);
    expect(await codes(forge)).toEqual(['HEAD_UNRESOLVED', 'ADMITTED']);
    expect((await forge.receipts()).at(-1)).toMatchObject({
      workKey: '42/pr/7/comment/9',
      inputVersion: await forge.git.head('topic'),
    });
    await moveHead(forge, 'b.txt');
    expect(await hook(forge, 9)).toMatchObject({ reasonCode: 'DUPLICATE_HOOK', existing: true });
    await readHeads(forge);
    expect(await forge.runs()).toBe(1);
  });

  test('I4, I10: that the hook brought is no news, before its head was read and after the head has moved', async () => {
    const forge = await withPull();
    say(forge, 9);
    await hook(forge, 9);
    await forge.look();
    expect(await codes(forge)).toEqual(['HEAD_UNRESOLVED']);
    await readHeads(forge);
    say(forge, 10);
    await hook(forge, 10);
    await readHeads(forge);
    await moveHead(forge, 'b.txt');
    await forge.look();
    await readHeads(forge);
    expect(await codes(forge)).toEqual(['HEAD_UNRESOLVED', 'ADMITTED', 'HEAD_UNRESOLVED', 'ADMITTED']);
    expect(await forge.runs()).toBe(2);
    expect(await forge.watermark()).toMatchObject({ silentCount: 0 });
  });

  test('I10: an edit is news of its own, each once', async () => {
    const forge = await withPull();
    say(forge, 9);
    await hook(forge, 9);
    await forge.look();
    edit(forge, 9, 'Seen it now?');
    await forge.look();
    expect((await forge.receipts()).at(-1)).toMatchObject({
      reasonCode: 'HEAD_UNRESOLVED',
      type: 'github.issue_comment.edited',
    });
    expect((await hook(forge, 9, 'edited', 'Seen it now?')).reasonCode).toBe('DUPLICATE_HOOK');
    expect((await hook(forge, 9, 'edited', 'And now?')).reasonCode).toBe('HEAD_UNRESOLVED');
  });

  test('I4: a hook that arrives while a look is about to commit waits for it: one piece of work', async () => {
    const forge = await withPull();
    say(forge, 9);
    const stopped = armFailPoint('scan.admitted', 'hold');
    const looking = forge.look();
    await stopped.reached;
    const late = hook(forge, 9);
    await sessionsWait(forge.world.db);
    stopped.release();
    await looking;
    expect((await late).reasonCode).toBe('DUPLICATE_HOOK');
    await readHeads(forge);
    expect(await forge.runs()).toBe(1);
  });

  test('I4: and a look that comes to its decision after the hook has decided brings nothing', async () => {
    const forge = await withPull();
    say(forge, 9);
    const stopped = armFailPoint('scan.looked', 'hold');
    const looking = forge.look();
    await stopped.reached;
    expect((await hook(forge, 9)).reasonCode).toBe('HEAD_UNRESOLVED');
    stopped.release();
    await looking;
    expect(await codes(forge)).toEqual(['HEAD_UNRESOLVED']);
  });

  test('I10: with authority: source what a look read is not read again for the hook that woke for it', async () => {
    const forge = await withPull(`${HOOKED}, authority: source`);
    say(forge, 9);
    await hook(forge, 9);
    await forge.look();
    await readHeads(forge);
    await readHeads(forge);
    expect((await codes(forge)).filter((code) => code === 'ADMITTED')).toHaveLength(1);
    expect(await forge.runs()).toBe(1);
  });

  test('I15: of our own is not told again by the scan', async () => {
    const forge = await withPull();
    const bot = { id: 1, login: 'headgate[bot]', type: 'Bot' };
    say(forge, 9, 'Done.', bot);
    expect((await hook(forge, 9, 'created', 'Done.', bot)).reasonCode).toBe('SELF_TRIGGERED');
    await forge.look();
    expect(await codes(forge)).toEqual(['SELF_TRIGGERED']);
  });
});

test('I10: where no route listens to comments, GitHub is asked for none; where one does, what is unchanged is free', async () => {
  const asks = (forge: Forge, path: RegExp) => forge.github.log.entries.filter((one) => path.test(one.path));
  const deaf = await withPull(HOOKED, '\n  pulls: { on: [ github.pull_request ] }\n');
  say(deaf, 9);
  await deaf.look();
  expect(asks(deaf, /comments/)).toEqual([]);

  const listening = await withPull();
  say(listening, 9);
  const reconciler = listening.world.reconciler();
  await listening.look(reconciler);
  const spent = listening.github.rate.used;
  await listening.look(reconciler);
  expect(listening.github.rate.used).toBe(spent);
  expect(asks(listening, /issues\/comments/).at(-1)?.status).toBe(304);
  expect(asks(listening, /pulls\/comments/)).toEqual([]);
});
