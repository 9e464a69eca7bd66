/** How the web console is served. What it shows is shown in a browser: test/e2e. */
import { beforeAll, describe, expect, it } from 'vitest';
import { aConsole, type TestConsole } from './a-console.js';

const PAGES = [
  '/',
  '/login',
  '/runs',
  '/runs/run_x',
  '/why?ref=a%26b',
  '/receipts',
  '/schedules',
  '/schedules/sch_x',
  '/goals',
  '/goals/goal_x',
  '/demo',
  '/demo/1%2Fx',
  '/docs',
];

describe('the web console', () => {
  let test: TestConsole;
  let assets: readonly string[];
  beforeAll(async () => {
    test = await aConsole();
    const page = await (await test.ask('/', { token: null })).text();
    assets = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '');
  });

  it('is one page at each of its addresses, asked for anew each time, with no data in it', async () => {
    const texts = new Set<string>();
    for (const path of PAGES) {
      const response = await test.ask(path, { token: null });
      expect(response.status, path).toBe(200);
      expect(response.headers.get('content-type'), path).toContain('text/html');
      expect(response.headers.get('cache-control'), path).toBe('no-store');
      texts.add(await response.text());
    }
    expect(texts.size).toBe(1);
    for (const path of ['/nothing', '/index.html', '/v1/nothing']) {
      expect((await test.ask(path)).status, path).toBe(404);
    }
  });

  it('names its files by their content, and lets them be kept for ever', async () => {
    expect(assets.length).toBeGreaterThanOrEqual(2);
    for (const path of assets) {
      expect(path).toMatch(/-[\w-]{8}\.(js|css|svg)$/);
      const response = await test.ask(path, { token: null });
      expect(response.status, path).toBe(200);
      expect(response.headers.get('cache-control'), path).toBe('public, max-age=31536000, immutable');
    }
    for (const path of [
      '/assets/',
      '/assets/nothing.js',
      '/assets/../src/index.ts',
      '/assets/%2e%2e%2fpackage.json',
    ]) {
      expect((await test.ask(path)).status, path).toBe(404);
    }
  });

  it('runs under a policy that lets nothing in from elsewhere, nothing inline, no frame', async () => {
    for (const path of ['/', '/login', '/v1/runs', '/openapi.json', ...assets]) {
      const { headers } = await test.ask(path);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy, path).toContain("default-src 'none'");
      expect(policy, path).toContain("script-src 'self'");
      expect(policy, path).toContain("style-src 'self'");
      expect(policy, path).toContain("frame-ancestors 'none'");
      expect(policy, path).not.toMatch(/unsafe|https?:|\*/);
      expect(headers.get('x-content-type-options'), path).toBe('nosniff');
      expect(headers.get('referrer-policy'), path).toBe('no-referrer');
    }
    const page = await (await test.ask('/')).text();
    expect(page).not.toMatch(/<script(?![^>]* src="\/assets\/)/);
    expect(page).not.toMatch(/<style| style=| on\w+=|(?:src|href)="(?:https?:)?\/\//);
  });
});
