/**
 * The system's Chromium with an empty profile, and pages that fail a test for what a person would not see: a script
 * error, something that the policy refused, a page wider than its window, a row of a table that towers over its page,
 * text that is cut without a title, a rule of accessibility broken.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { atEnd, requireTool, testDepth } from '@headgate/testkit';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';

/** Screenshots of every page, for people to look at. */
const SHOTS = process.env['HEADGATE_ARTIFACTS'] ?? join(import.meta.dirname, '../../.turbo/e2e');

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A browser beside other tests on two cores is slow at times: only what never comes is a fault. */
const STEP_TIMEOUT_MS = 30_000;
export const TIMEOUTS = { testTimeout: 180_000, hookTimeout: 120_000 };

export async function aBrowser(): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: requireTool('chromium'), args: FLAGS });
  atEnd(() => browser.close());
  return browser;
}

export interface Window {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Requests to the API since the last call. */
  requests(): readonly string[];
  /** Looks at the page as it stands: a screenshot, its width, axe; and at what went wrong so far. */
  inspect(name: string): Promise<void>;
}

export interface WindowOptions {
  readonly width?: number;
  readonly scheme?: 'light' | 'dark';
}

/** Every day each theme and each width once; deeper, each with each. */
export const LOOKS: readonly Required<WindowOptions>[] =
  testDepth() === 'deep'
    ? [
        { scheme: 'light', width: 1280 },
        { scheme: 'light', width: 360 },
        { scheme: 'dark', width: 1280 },
        { scheme: 'dark', width: 360 },
      ]
    : [
        { scheme: 'light', width: 1280 },
        { scheme: 'dark', width: 360 },
      ];

/** A cell that is as narrow as a letter makes a row this high; the longest that is meant to be has some ten lines. */
const TOWER_PX = 240;
const TOWERS = `[...document.querySelectorAll('tr')].filter((row) => row.offsetHeight > ${TOWER_PX})
  .map((row) => row.textContent.slice(0, 80))`;
/** What ends in "…" and says nowhere how it goes on. */
const CUT = `[...document.querySelectorAll('main *')].filter((one) =>
    getComputedStyle(one).textOverflow === 'ellipsis' && one.scrollWidth > one.clientWidth &&
    one.textContent.trim() !== '' && one.closest('[title]:not([title=""])') === null)
  .map((one) => one.textContent.slice(0, 80))`;

export async function aWindow(browser: Browser, options: WindowOptions = {}): Promise<Window> {
  const { width = 1280, scheme = 'light' } = options;
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    colorScheme: scheme,
    // Fields for a time are filled by its clocks.
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const page = await context.newPage();
  atEnd(async () => {
    await page.screenshot({ path: join(SHOTS, 'last.png') }).catch(() => {});
    await context.close();
  });
  page.setDefaultTimeout(STEP_TIMEOUT_MS);
  const faults: string[] = [];
  page.on('pageerror', (fault) => faults.push(String(fault)));
  page.on('console', (message) => {
    // What the API answered with is shown on the page; the browser's own note of it is not a fault.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      faults.push(message.text());
    }
  });
  let requests: string[] = [];
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url());
    if (pathname.startsWith('/v1/')) requests.push(pathname + search);
  });
  return {
    page,
    context,
    requests: () => {
      const sent = requests;
      requests = [];
      return sent;
    },
    inspect: async (name) => {
      await mkdir(SHOTS, { recursive: true });
      await page.screenshot({ path: join(SHOTS, `${name}-${scheme}-${width}.png`) });
      const isWider = await page.evaluate(
        'document.documentElement.scrollWidth > document.documentElement.clientWidth',
      );
      expect(isWider, `${name} is wider than its window`).toBe(false);
      expect(await page.evaluate(TOWERS), `${name}: rows of a table too high`).toEqual([]);
      expect(await page.evaluate(CUT), `${name}: cut without a title`).toEqual([]);
      // In the page itself: there are no frames whose parts a second page would have to put together.
      expect(page.frames(), `${name}: frames`).toHaveLength(1);
      const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
      expect(
        violations.map((one) => [one.id, one.nodes.map((node) => node.html.slice(0, 160))]),
        `${name}: accessibility`,
      ).toEqual([]);
      expect(faults, `${name}: faults`).toEqual([]);
    },
  };
}

export async function signIn(window: Window, url: string, token: string): Promise<void> {
  await window.page.goto(`${url}/login#token=${token}`);
  await window.page.getByRole('status').filter({ hasText: 'live' }).waitFor();
}
