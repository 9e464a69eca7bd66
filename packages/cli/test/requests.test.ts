import { describe, expect, it } from 'vitest';
import { headgate, temporaryFolder } from './command-line.js';
import { fakeInstance } from './instance.js';
import { APPROVAL, PROPOSED_RUN, RECEIPT, RUN, WAITING_RUN } from './samples.js';

const page = (...items: unknown[]) => ({ status: 200, body: { items, nextCursor: null } });
const signal = {
  status: 202,
  body: {
    receiptId: 'rcpt_01k',
    outcome: 'accept',
    reasonCode: 'ADMITTED',
    message: 'm',
    runId: 'run_01k',
    taskId: 'task_01k',
    existing: false,
    retryAfter: null,
  },
};

describe('what a command asks the instance', () => {
  it('goes to the folder’s instance with the folder’s token', async () => {
    const dataDir = await temporaryFolder();
    const { heard } = await fakeInstance(dataDir, () => page());
    await headgate(['runs'], { dataDir });
    expect(heard).toMatchObject([{ method: 'GET', authorization: 'Bearer hg_folder-token' }]);
  });

  it('goes to HEADGATE_URL with HEADGATE_TOKEN, and never hands the folder’s token to another address', async () => {
    const dataDir = await temporaryFolder();
    await fakeInstance(dataDir, () => page());
    const other = await fakeInstance(await temporaryFolder(), () => page());
    await headgate(['runs'], { dataDir, env: { HEADGATE_URL: other.url, HEADGATE_TOKEN: 'hg_mine' } });
    await headgate(['runs'], { dataDir, env: { HEADGATE_URL: other.url } });
    expect(other.heard.map(({ authorization }) => authorization?.trim())).toEqual([
      'Bearer hg_mine',
      'Bearer',
    ]);
  });

  it('filters runs by everything the API can, times given as how long ago', async () => {
    const dataDir = await temporaryFolder();
    const { heard } = await fakeInstance(dataDir, () => page());
    const words = 'runs list --status failed --state FAILED --route tidy --repository acme/api --work-key k';
    await headgate([...words.split(' '), '--task', 'task_1', '--since', '10s', '--limit', '7'], { dataDir });
    const query = Object.fromEntries(new URL(heard[0]?.url ?? '', 'http://x').searchParams);
    expect(query).toEqual({
      publicStatus: 'failed',
      status: 'FAILED',
      route: 'tidy',
      repository: 'acme/api',
      workKey: 'k',
      taskId: 'task_1',
      since: '2026-01-31T13:50:00.000Z',
      limit: '7',
    });
  });

  it('asks for work with all that was given, under an idempotency key', async () => {
    const dataDir = await temporaryFolder();
    const { heard } = await fakeInstance(dataDir, () => signal);
    const words =
      'trigger tidy --repository acme/api --target pr/7 --key k --input-version v1 --priority high';
    const rest = ['--input', 'n=3', '--input', 'who=me', '--reason', 'because', '--idempotency-key', 'once'];
    const { code } = await headgate([...words.split(' '), ...rest], { dataDir });
    expect(code).toBe(0);
    expect(heard[0]?.headers['idempotency-key']).toBe('once');
    expect(JSON.parse(heard[0]?.body ?? '')).toEqual({
      route: 'tidy',
      repository: 'acme/api',
      target: { kind: 'pull_request', id: '7' },
      workKey: 'k',
      inputVersion: 'v1',
      inputs: { n: 3, who: 'me' },
      priority: 'high',
      reason: 'because',
    });
  });

  it('cancels with a reason, and retries over a live run only when told', async () => {
    const dataDir = await temporaryFolder();
    const { heard } = await fakeInstance(dataDir, ({ url }) =>
      url.endsWith('/retry') ? signal : { status: 202, body: { ...RUN, publicStatus: 'cancelled' } },
    );
    await headgate(['runs', 'cancel', 'run_1', '--reason', 'wrong'], { dataDir });
    await headgate(['runs', 'retry', 'run_1'], { dataDir });
    await headgate(['runs', 'retry', 'run_1', '--cancel-live'], { dataDir });
    expect(heard.map(({ url, body }) => [url, JSON.parse(body)])).toEqual([
      ['/v1/runs/run_1/cancel', { reason: 'wrong' }],
      ['/v1/runs/run_1/retry', {}],
      ['/v1/runs/run_1/retry', { cancelLive: true }],
    ]);
  });

  it('replays a receipt as the same signal, or as new work only when told', async () => {
    const dataDir = await temporaryFolder();
    const { heard } = await fakeInstance(dataDir, () => signal);
    expect((await headgate(['receipts', 'replay', 'rcpt_1'], { dataDir })).out).toContain('ADMITTED');
    await headgate(['receipts', 'replay', 'rcpt_1', '--nonce', 'monday'], { dataDir });
    await headgate(['receipts', 'replay', 'rcpt_1', '--as-new-work', '--cancel-live'], { dataDir });
    expect(heard.map(({ method, url, body }) => [method, url, JSON.parse(body)])).toEqual([
      ['POST', '/v1/receipts/rcpt_1/replay', { as: 'signal' }],
      ['POST', '/v1/receipts/rcpt_1/replay', { as: 'signal', nonce: 'monday' }],
      ['POST', '/v1/receipts/rcpt_1/replay', { as: 'newWork', cancelLive: true }],
    ]);
  });

  it('looks further back for receipts that are rare, page by page, until it has as many as asked for', async () => {
    const dataDir = await temporaryFolder();
    const { heard } = await fakeInstance(dataDir, ({ url }) => ({
      status: 200,
      body: {
        items: url.includes('cursor=c2') ? [RECEIPT, RECEIPT] : [],
        nextCursor: url.includes('cursor=c2') ? 'c3' : url.includes('cursor=c1') ? 'c2' : 'c1',
      },
    }));
    const { out, note } = await headgate(['receipts', '--reason-code', 'STALE_EVENT', '--limit', '2'], {
      dataDir,
    });
    expect(out.match(/rcpt_01k/g)).toHaveLength(2);
    expect(note).toContain('--cursor c3');
    expect(heard).toHaveLength(3);
  });

  it('lists what waits for a person, with the words that answer it; answered ones when asked', async () => {
    const dataDir = await temporaryFolder();
    const asked = {
      ...APPROVAL,
      requestedAt: '2026-01-31T13:40:10.000Z',
      expiresAt: '2026-02-07T13:40:10.000Z',
    };
    const said = {
      ...asked,
      outcome: 'approved',
      decidedAt: '2026-01-31T13:45:10.000Z',
      decidedBy: 'token:ops',
    };
    const { heard } = await fakeInstance(dataDir, ({ url }) =>
      url.includes('open=true') ? page(asked) : url.includes('open=false') ? page() : page(asked, said),
    );
    const open = await headgate(['approvals'], { dataDir });
    expect(open.out).toMatch(/open +run_01k .*10 m 00 s ago by token:ci +publish or discard, expires in 6 d/);
    expect(open.note).toContain('headgate runs publish|discard|approve|decline RUN');
    const all = await headgate(['approvals', '--state', 'all', '--limit', '2'], { dataDir });
    expect(all.out).toMatch(/approved +run_01k .*5 m 00 s ago by token:ops/);
    expect((await headgate(['approvals', '--state', 'answered'], { dataDir })).out).toContain(
      'Nobody was asked yet.',
    );
    expect(heard.map(({ url }) => url)).toEqual([
      '/v1/approvals?limit=20&open=true',
      '/v1/approvals?limit=2',
      '/v1/approvals?limit=20&open=false',
    ]);
  });

  it('publishes, discards, approves and declines exactly the request that it has read', async () => {
    const dataDir = await temporaryFolder();
    const { heard } = await fakeInstance(dataDir, ({ method }) =>
      method === 'GET' ? { status: 200, body: PROPOSED_RUN } : { status: 202, body: RUN },
    );
    for (const word of ['publish', 'discard', 'approve', 'decline']) {
      expect((await headgate(['runs', word, 'run_1', '--reason', 'read'], { dataDir })).code).toBe(0);
    }
    const said = { approvalId: PROPOSED_RUN.approval?.id, reason: 'read' };
    expect(
      heard.filter(({ method }) => method === 'POST').map(({ url, body }) => [url, JSON.parse(body)]),
    ).toEqual([
      ['/v1/runs/run_1/publish', said],
      ['/v1/runs/run_1/discard', said],
      ['/v1/runs/run_1/approve', said],
      ['/v1/runs/run_1/decline', said],
    ]);
  });

  it('shows of a proposal what would be pushed where, and only the next steps that are allowed', async () => {
    const dataDir = await temporaryFolder();
    await fakeInstance(dataDir, () => ({ status: 200, body: PROPOSED_RUN }));
    const { out } = await headgate(['runs', 'show', 'run_1'], { dataDir });
    expect(out).toContain('cccccccccccc to refs/heads/agent/task_01k/run_01k of acme/api');
    expect(out).toContain('headgate runs publish run_01k');
    expect(out).not.toContain('headgate runs cancel');
  });

  it('prints with --json, before or after the command, exactly the API’s document', async () => {
    const dataDir = await temporaryFolder();
    await fakeInstance(dataDir, ({ url }) =>
      url.startsWith('/v1/runs/') ? { status: 200, body: RUN } : page(RUN, WAITING_RUN),
    );
    const listed = await headgate(['runs', '--json'], { dataDir });
    expect(JSON.parse(listed.out)).toEqual({ items: [RUN, WAITING_RUN], nextCursor: null });
    expect(listed.note).toBe('');
    const shown = await headgate(['--json', 'runs', 'show', 'run_01k'], { dataDir });
    expect(JSON.parse(shown.out)).toEqual(RUN);
  });

  it('shows runs as a table: shape and word of the status, why one waits, what was pushed', async () => {
    const dataDir = await temporaryFolder();
    await fakeInstance(dataDir, () => page(RUN, WAITING_RUN));
    expect((await headgate(['runs'], { dataDir })).out).toMatchInlineSnapshot(`
      "status       run      route              repository  tries  created   cost
      ✓ succeeded  run_01k  fix-failing-check  acme/api    2      10 s ago  $0.84  pushed agent/task_01k/run_01k
      ○ waiting    run_02k  fix-failing-check  acme/api    0      10 s ago  $0.84  REPOSITORY_AT_LIMIT: 2 of 2 run; 3rd in line.
      "
    `);
  });

  it('shows receipts as a table, and one with its whole identity', async () => {
    const dataDir = await temporaryFolder();
    await fakeInstance(dataDir, ({ url }) =>
      url.startsWith('/v1/receipts/') ? { status: 200, body: RECEIPT } : page(RECEIPT),
    );
    expect((await headgate(['receipts'], { dataDir })).out).toMatchInlineSnapshot(`
      "outcome   reason    receipt   type                        route              created   run
      ✓ accept  ADMITTED  rcpt_01k  github.check_run.completed  fix-failing-check  10 s ago  run_01k
      "
    `);
    expect((await headgate(['receipts', 'show', 'rcpt_01k'], { dataDir })).out).toMatchInlineSnapshot(`
      "✓ accept  ADMITTED  The work was admitted and a run was made.
      rcpt_01k

        decided by  new-work, policy version 17
        signal      github.check_run.completed from example-github by webhook
        delivery    7f3c
        received    2026-01-31T13:50:00.000Z (10 s ago)
        route       fix-failing-check
        work        42/pr/7/check/unit at 9f31c2
        run         run_01k
        task        task_01k
      "
    `);
  });
});
