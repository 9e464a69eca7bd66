import { describe, expect, it } from 'vitest';
import { aConsole, type TestConsole } from './a-console.js';

const signIn = (test: TestConsole, token: string, headers: Record<string, string> = {}) =>
  test.ask('/session', {
    method: 'POST',
    token: null,
    body: { token },
    headers: { origin: test.url, ...headers },
  });

async function signedIn(test: TestConsole, token: string): Promise<string> {
  const response = await signIn(test, token);
  expect(response.status).toBe(204);
  const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';');
  return cookie;
}

describe('a browser’s session', () => {
  it('keeps the token out of reach of scripts: an opaque cookie, this site only', async () => {
    const test = await aConsole();
    const response = await signIn(test, test.tokens.viewer);
    const cookie = response.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/^headgate_session=[A-Za-z0-9_-]{43};/);
    expect(cookie).toContain('HttpOnly');
    expect(cookie).toContain('SameSite=Strict');
    expect(cookie).toContain('Path=/');
    expect(cookie).toMatch(/Max-Age=\d+/);
    expect(cookie).not.toContain(test.tokens.viewer);
    const kept = await test.store.service.use((c) =>
      c.query<{ hash: Buffer }>('select secret_hash as hash from headgate.session'),
    );
    expect(kept).toHaveLength(1);
    expect(cookie).not.toContain(kept[0]?.hash.toString('base64url'));
  });

  it('is not opened by a body with two tokens, or one that is not called JSON', async () => {
    const test = await aConsole();
    const { viewer } = test.tokens;
    const token = null;
    const headers = { origin: test.url };
    const twice = `{"token":"x","token":"${viewer}"}`;
    const refused = await test.ask('/session', { method: 'POST', token, headers, body: twice });
    expect(await refused.json()).toMatchObject({ status: 400, detail: expect.stringContaining('twice') });
    const plain = { ...headers, 'content-type': 'text/plain' };
    const body = JSON.stringify({ token: viewer });
    expect((await test.ask('/session', { method: 'POST', token, headers: plain, body })).status).toBe(400);
    expect(await test.store.service.use((c) => c.query('select 1 from headgate.session'))).toEqual([]);
  });

  it('opens pages and the API until it is closed', async () => {
    const test = await aConsole();
    const cookie = await signedIn(test, test.tokens.viewer);
    const asSession = { token: null, headers: { cookie } } as const;
    expect((await test.ask('/', asSession)).status).toBe(200);
    expect((await test.ask('/v1/runs', asSession)).status).toBe(200);
    const out = await test.ask('/session', {
      method: 'DELETE',
      token: null,
      headers: { cookie, origin: test.url },
    });
    expect(out.status).toBe(204);
    expect(out.headers.get('set-cookie')).toMatch(/Expires=Thu, 01 Jan 1970/);
    expect((await test.ask('/v1/runs', asSession)).status).toBe(401);
  });

  it('ends with its token, and with its time', async () => {
    const test = await aConsole();
    const viewer = await signedIn(test, test.tokens.viewer);
    const operator = await signedIn(test, test.tokens.operator);
    const asks = async (cookie: string): Promise<number> =>
      (await test.ask('/v1/runs', { token: null, headers: { cookie } })).status;
    expect(await asks(viewer)).toBe(200);
    await test.store.service.use((c) =>
      c.query("update headgate.api_token set revoked_at = clock_timestamp() where name = 'viewer'"),
    );
    expect(await asks(viewer)).toBe(401);
    expect(await asks(operator)).toBe(200);
    await test.store.service.use((c) =>
      c.query('update headgate.session set expires_at = clock_timestamp()'),
    );
    expect(await asks(operator)).toBe(401);
  });

  it('lets no other site act with it, nor sign a browser in', async () => {
    const test = await aConsole();
    const cookie = await signedIn(test, test.tokens.operator);
    const cancel = (headers: Record<string, string>) =>
      test.ask('/v1/runs/run_00000000000000000000000000/cancel', {
        method: 'POST',
        token: null,
        body: {},
        headers: { cookie, ...headers },
      });
    for (const headers of [{}, { origin: 'https://evil.example' }, { origin: 'null' }] as Record<
      string,
      string
    >[]) {
      const response = await cancel(headers);
      expect(response.status).toBe(403);
      expect(await response.json()).toMatchObject({ code: 'FOREIGN_ORIGIN' });
    }
    expect((await cancel({ origin: test.url })).status).toBe(404);
    for (const origin of ['https://evil.example', test.url.replace(/\d+$/, '1')]) {
      expect((await signIn(test, test.tokens.operator, { origin })).status).toBe(403);
    }
  });

  it('refuses a wrong token, a strange body, a forged cookie, and a wrong token beside a good cookie', async () => {
    const test = await aConsole();
    const response = await signIn(test, 'hg_wrong');
    expect(response.status).toBe(401);
    expect(response.headers.get('set-cookie')).toBeNull();
    const strange = await test.ask('/session', {
      method: 'POST',
      token: null,
      body: { password: 'x' },
      headers: { origin: test.url },
    });
    expect(strange.status).toBe(400);
    const forged = `headgate_session=${'A'.repeat(43)}`;
    expect((await test.ask('/v1/runs', { token: null, headers: { cookie: forged } })).status).toBe(401);
    const cookie = await signedIn(test, test.tokens.admin);
    expect((await test.ask('/v1/runs', { token: 'hg_wrong', headers: { cookie } })).status).toBe(401);
  });

  it('bounds how often sign-in is tried', async () => {
    const test = await aConsole({ rateLimits: { signInPerMinute: 2 } });
    const statuses: number[] = [];
    for (let n = 0; n < 4; n += 1) statuses.push((await signIn(test, 'hg_wrong')).status);
    expect(statuses).toEqual([401, 401, 429, 429]);
  });
});
