/** The console in a real browser, as people use it. */
import { formatId } from '@headgate/domain';
import {
  claimRun,
  describeWithTool,
  eventually,
  finishRun,
  seedRun,
  seedWorker,
  testDepth,
} from '@headgate/testkit';
import type { Browser } from 'playwright-core';
import { beforeAll, expect, it, vi } from 'vitest';
import { aBrowser, aWindow, LOOKS, signIn, TIMEOUTS, type Window } from './browser.js';
import { aCuttableLine } from './cuttable-line.js';
import { aStory, BRANCH_URL, DELIVERY, type Story } from './story.js';

const WITHIN = { deadlineMs: 30_000, everyMs: 100 };
const IS_DEEP = testDepth() === 'deep';
/** What is on the page and what is asked for must not depend on it; making them takes a minute for 100 000. */
const MANY = IS_DEEP ? 100_000 : 10_000;

vi.setConfig(TIMEOUTS);

describeWithTool('chromium', 'the web console', () => {
  let browser: Browser;
  let story: Story;
  beforeAll(async () => {
    browser = await aBrowser();
    story = await aStory();
  });
  const enter = async (options: Parameters<typeof aWindow>[1] = {}, token?: string): Promise<Window> => {
    const window = await aWindow(browser, options);
    await signIn(window, story.test.url, token ?? story.test.tokens.admin);
    return window;
  };
  const row = (window: Window, id: string) => window.page.locator(`[data-run="${id}"]`);

  it('signs in by the printed address, whose token reaches no server as part of one; and signs out', async () => {
    const window = await aWindow(browser);
    const { page } = window;
    const asked: string[] = [];
    page.on('request', (request) => asked.push(`${request.url()} ${request.headers()['referer'] ?? ''}`));
    await page.goto(`${story.test.url}/runs/${story.finished}`);
    await page.getByLabel('Token').waitFor();
    await window.inspect('login');
    await page.getByLabel('Token').fill('hg_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('It is unknown, has ended, or was revoked').waitFor();
    await page.getByLabel('Token').fill(story.test.tokens.viewer);
    await page.getByRole('button', { name: 'Sign in' }).click();
    // Back where one wanted to go.
    await page.getByRole('heading', { level: 1, name: 'fix-failing-check' }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/runs/${story.finished}`);
    await page.getByRole('button', { name: 'viewer' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    await signIn(window, story.test.url, story.test.tokens.admin);
    expect(page.url()).not.toContain('token');
    for (const token of [story.test.tokens.viewer, story.test.tokens.admin]) {
      expect(asked.filter((one) => one.includes(token))).toEqual([]);
    }
    expect(await page.evaluate('document.cookie')).toBe('');
  });

  it('shows a run as it moves, without being asked again', async () => {
    const window = await enter();
    const { test } = story;
    // Alive, however long ago the story began: a run waits for its turn only where somebody could take it.
    await seedWorker(test.store, { queueIds: [test.tenant.queueId] });
    const run = await seedRun(test.store, { tenant: test.tenant });
    const shown = row(window, formatId('run', run.runId));
    await shown.locator('[data-status="waiting"]').waitFor();
    await shown.filter({ hasText: 'its turn' }).waitFor();
    const before = await window.page.evaluate('performance.timeOrigin');
    const lease = await claimRun(test.store, run);
    await shown.locator('[data-status="running"]').waitFor();
    await finishRun(test.store, lease, { kind: 'succeeded', reasonCode: 'NO_CHANGE' });
    await shown.locator('[data-status="succeeded"]').waitFor();
    expect(await window.page.evaluate('performance.timeOrigin')).toBe(before);
  });

  it('says since when the page is old while nothing comes through, and goes on by itself', async () => {
    const line = await aCuttableLine(story.test.url);
    const window = await aWindow(browser);
    const { page } = window;
    await signIn(window, line.url, story.test.tokens.admin);
    await row(window, story.finished).waitFor();
    const before = await page.evaluate('performance.timeOrigin');
    line.cut();
    const notice = page.getByText(
      /^The connection is lost\. This page shows what was known at .*\d\d:\d\d:\d\d/,
    );
    await notice.waitFor();
    await window.inspect('lost');
    const { test } = story;
    const missed = await seedRun(test.store, { tenant: test.tenant });
    line.mend();
    await row(window, formatId('run', missed.runId)).waitFor();
    await notice.waitFor({ state: 'detached' });
    expect(await page.evaluate('performance.timeOrigin')).toBe(before);
    await finishRun(test.store, await claimRun(test.store, missed), {
      kind: 'succeeded',
      reasonCode: 'NO_CHANGE',
    });
  });

  it('Q9: shows a run’s log, which is searched and read from either end, its diff, and what it did outside', async () => {
    const window = await enter();
    const { page } = window;
    await row(window, story.finished).getByRole('link').click();
    await page.getByRole('heading', { level: 1, name: 'fix-failing-check' }).waitFor();
    // Where one is, and what of: a phone shows no ids at first.
    expect(await page.getByRole('link', { name: 'Runs' }).first().getAttribute('aria-current')).toBe('page');
    expect(await page.getByRole('main').textContent()).toContain('acme/api pr/41/check/lint @ ');
    expect(await page.getByRole('link', { name: 'agent/fix-add' }).getAttribute('href')).toBe(BRANCH_URL);
    const log = page.getByRole('region', { name: 'Log agent.log' });
    await log.getByText('found the defect').waitFor();
    // 3 000 lines are there, and only those in view are in the document.
    expect(await log.locator('div > div').count()).toBeLessThan(120);
    await page.getByLabel('Find in agent.log').fill('FILE-42.JS');
    await page.getByLabel('Find in agent.log').press('Enter');
    await log.getByText('line 42: looking at file-42.js').waitFor();
    await page.getByRole('button', { name: 'Start' }).click();
    await log.getByText('line 0: looking').waitFor();

    await page.getByRole('tab', { name: 'diff' }).click();
    await page.getByText('return a + b;').waitFor();
    expect(await page.getByRole('tabpanel').textContent()).toContain('4 files +3 −1');
    await page.getByText('Nothing but its name changed.').waitFor();
    await page.getByText('A binary file.').waitFor();
    await page.getByRole('tab', { name: 'verification' }).click();
    await page.getByText('It subtracted where it should add.').waitFor();
    await page.getByText('npm test').waitFor();
    await window.inspect('run-verification');
    await page.getByRole('tab', { name: 'operations 1' }).click();
    const link = page.getByRole('tabpanel').getByRole('link');
    expect(await link.getAttribute('href')).toBe(BRANCH_URL);
    for (const tab of ['cost', 'events', 'task']) {
      await page.getByRole('tab', { name: tab }).click();
      await page.getByRole('tabpanel').getByRole('table').first().waitFor();
      // The log, the diff, the operations and the events are inspected in each look, below.
      if (tab !== 'events') await window.inspect(`run-${tab}`);
    }
    await page.waitForURL((url) => url.search === '?tab=task');
    await page.getByRole('button', { name: `Copy ${story.finished}` }).click();
    await eventually(async () => (await page.evaluate('navigator.clipboard.readText()')) === story.finished, {
      what: 'it is copied',
      ...WITHIN,
    });
  });

  it('I17: answers why, for a delivery that came three times and for one that never came', async () => {
    const window = await enter();
    const { page } = window;
    await page.keyboard.press('/');
    await page.keyboard.type(DELIVERY);
    await page.keyboard.press('Enter');
    await page.getByText('3 signals led to 1 run (2 met a run that was there before).').waitFor();
    await page.getByText(/^It was decided 3 times, last refused with DUPLICATE_DELIVERY/).waitFor();
    expect(await page.getByText('DUPLICATE_DELIVERY', { exact: true }).count()).toBe(1);
    await page.getByText(/^2 times, until/).waitFor();
    await page.getByText('delivery-dedupe').last().waitFor();
    await window.inspect('why');
    await page.keyboard.press('/');
    await page.keyboard.type('never-came');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'What to check' }).waitFor();
    await page.getByText('others-source').waitFor();
    await window.inspect('why-nothing');
  });

  it('is used with the keyboard alone: find, move, open, cancel', async () => {
    const { test } = story;
    const run = await seedRun(test.store, { tenant: test.tenant });
    const id = formatId('run', run.runId);
    const window = await enter();
    const { page } = window;
    await row(window, id).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await window.inspect('keys');
    await page.keyboard.press('Escape');
    // While it stands, keys are its own.
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('j');
    const focused = (): Promise<string | null> =>
      page.evaluate<string | null>('document.activeElement.closest("[data-run]")?.dataset.run ?? null');
    await eventually(async () => (await focused()) === id, {
      what: 'the first row has the focus',
      ...WITHIN,
    });
    await page.keyboard.press('j');
    await eventually(async () => (await focused()) !== id, { what: 'the second row has it', ...WITHIN });
    await page.keyboard.press('k');
    await eventually(async () => (await focused()) === id, { what: 'the first has it again', ...WITHIN });
    await page.keyboard.press('Enter');
    const cancel = page.getByRole('button', { name: 'Cancel run' });
    await cancel.waitFor();
    await cancel.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Cancel this run?' });
    await dialog.waitFor();
    await window.inspect('cancel');
    await dialog.getByRole('button', { name: 'Cancel run' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Run again' }).waitFor();
    await page.locator('header').last().filter({ hasText: 'cancelled' }).waitFor();
  });

  it('cancels many at once, and says how many it left out', async () => {
    const { test } = story;
    const runs = [];
    for (let n = 0; n < 3; n += 1) runs.push(await seedRun(test.store, { tenant: test.tenant }));
    const window = await enter();
    const { page } = window;
    for (const run of runs) {
      await row(window, formatId('run', run.runId)).getByRole('checkbox').check();
    }
    await row(window, story.finished).getByRole('checkbox').check();
    await page.getByText('4 chosen').waitFor();
    await page.getByRole('button', { name: 'Cancel…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel 3 runs?' });
    await dialog.getByText('1 of the chosen is left out').waitFor();
    await dialog.getByRole('button', { name: 'Cancel 3 runs' }).click();
    await dialog.waitFor({ state: 'detached' });
    for (const run of runs) {
      await row(window, formatId('run', run.runId)).locator('[data-status="cancelled"]').waitFor();
    }
  });

  it('cancels all that the filter shows, counted first; and says why some could not be run again', async () => {
    const { test } = story;
    const runs = [];
    // No route of the policy: what has ended cannot run again.
    for (let n = 0; n < 2; n += 1) {
      runs.push(await seedRun(test.store, { tenant: test.tenant, spec: { route: 'gone' } }));
    }
    const { page } = await enter();
    await page.goto(`${test.url}/?route=gone`);
    const many = page.getByRole('group', { name: 'What to do with many runs' });
    await many.getByText('all that match').waitFor();
    await many.getByRole('button', { name: 'Cancel…' }).click();
    const cancel = page.getByRole('dialog', { name: 'Cancel 2 runs?' });
    await cancel.getByText('2 QUEUED').waitFor();
    await cancel.getByRole('button', { name: 'Cancel 2 runs' }).click();
    await cancel.waitFor({ state: 'detached' });
    for (const run of runs) {
      const id = formatId('run', run.runId);
      await page.locator(`[data-run="${id}"] [data-status="cancelled"]`).waitFor();
    }
    await many.getByRole('button', { name: 'Retry…' }).click();
    const retry = page.getByRole('dialog', { name: 'Retry 2 runs?' });
    await retry.getByRole('button', { name: 'Retry 2 runs' }).click();
    const said = page.getByRole('alert').filter({ hasText: '0 done; left alone' });
    await said.waitFor();
    expect(await page.getByRole('dialog').textContent()).toContain('2 runs: ');
  });

  it('filters by status and by what runs wait for, and keeps it in the address', async () => {
    const window = await enter();
    const { page } = window;
    // Alive, however long ago the story began: a run waits for its turn only where somebody could take it.
    await seedWorker(story.test.store, { queueIds: [story.test.tenant.queueId] });
    await page.getByRole('combobox', { name: 'status' }).click();
    await page.getByRole('option', { name: 'failed' }).click();
    const list = page.getByRole('list', { name: 'Runs, newest first' });
    await eventually(async () => (await list.getByRole('listitem').count()) === 1, {
      what: 'one failed',
      ...WITHIN,
    });
    expect(new URL(page.url()).search).toBe('?status=failed');
    await list.getByRole('link').click();
    // The reason in a sentence, not its code alone.
    await page.getByText('SETUP_FAILED A set-up command failed. npm ci.').waitFor();
    await page.goto(`${story.test.url}/receipts?outcome=defer&source=nobody`);
    await page.getByRole('heading', { name: 'No receipt is like that.' }).waitFor();
    await page.getByRole('button', { name: /^source nobody/ }).click();
    expect(new URL(page.url()).search).toBe('?outcome=defer');
    await page.goto(`${story.test.url}/?waiting=READY`);
    await row(window, formatId('run', story.waiting.runId)).waitFor();
    expect(await list.locator('[data-status="succeeded"]').count()).toBe(0);
    expect(await page.getByRole('button', { name: /their turn/ }).getAttribute('aria-pressed')).toBe('true');
  });

  it('shows a viewer no button that may not be pressed, and a tenant nothing of another', async () => {
    const window = await enter({}, story.test.tokens.viewer);
    const { page } = window;
    await row(window, story.finished).waitFor();
    expect(await page.getByRole('checkbox').count()).toBe(0);
    await page.goto(`${story.test.url}/runs/${formatId('run', story.waiting.runId)}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await page.getByRole('button', { name: /Cancel|Run again/ }).count()).toBe(0);
    const other = await enter({}, story.test.tokens.other);
    await other.page.getByRole('heading', { name: 'No run yet.' }).waitFor();
    expect(await other.page.getByRole('link', { name: 'Queues' }).count()).toBe(0);
    await other.inspect('runs-empty');
    await other.page.goto(`${story.test.url}/runs/${story.finished}`);
    await other.page.getByText('is not known, is past its retention').waitFor();
    await other.inspect('run-not-here');
  });

  it('goes to the sign-in when the session is over', async () => {
    const window = await enter({}, story.test.tokens.approver);
    await story.test.store.service.use((c) =>
      c.query("update headgate.api_token set revoked_at = clock_timestamp() where name = 'approver'"),
    );
    await window.page.getByRole('link', { name: 'Receipts' }).click();
    await window.page.getByLabel('Token').waitFor();
    expect(new URL(window.page.url()).search).toBe('?next=%2Freceipts');
  });

  for (const { scheme, width } of LOOKS) {
    it(`is accessible and fits on every page, ${scheme}, ${width} pixels wide`, async () => {
      const window = await enter({ scheme, width });
      const { page } = window;
      const pages: readonly (readonly [string, string, string])[] = [
        ['runs', '/', `[data-run="${story.finished}"]`],
        ['run', `/runs/${story.finished}`, 'text=found the defect'],
        ['run-waiting', `/runs/${formatId('run', story.waiting.runId)}`, 'text=Starts when'],
        ['run-diff', `/runs/${story.finished}?tab=diff`, 'text=return a + b;'],
        ['run-operations', `/runs/${story.finished}?tab=operations`, 'text=confirmed'],
        ['run-events', `/runs/${story.finished}?tab=events`, 'text=run.claimed'],
        ['receipts', '/receipts', 'text=DUPLICATE_DELIVERY'],
        ['why', `/why?ref=${story.finished}`, 'text=run.claimed'],
        ['why-empty', '/why', 'text=Search for anything'],
        ['docs', '/docs', 'text=openapi.json'],
        ['demo', '/demo', 'text=No demo has run.'],
      ];
      for (const [name, path, seen] of pages) {
        await page.goto(story.test.url + path);
        await page.locator(seen).first().waitFor();
        await window.inspect(name);
      }
    });
  }

  it(`scrolls through ${MANY} runs with a bounded page and bounded requests`, async () => {
    await manyRuns(story);
    const window = await enter();
    const { page } = window;
    await page.goto(`${story.test.url}/?route=many`);
    const list = page.getByRole('list', { name: 'Runs, newest first' });
    await list.getByRole('listitem').first().waitFor();
    window.requests();
    const held = async (): Promise<number> => Number(await list.getAttribute('data-rows'));
    while ((await held()) < 1_500) {
      const before = await held();
      await page.mouse.wheel(0, 20_000);
      await page.evaluate('window.scrollTo(0, document.documentElement.scrollHeight)');
      await eventually(async () => (await held()) > before, { what: 'more rows are read', ...WITHIN });
      expect(await list.getByRole('listitem').count()).toBeLessThan(80);
    }
    const lists = window
      .requests()
      .filter((path) => path.startsWith('/v1/runs?') && path.includes('route=many'));
    // A page of rows each, and none asked for twice.
    expect(lists.length).toBeLessThanOrEqual(16);
    expect(new Set(lists).size).toBe(lists.length);
    await page.evaluate('window.scrollTo(0, 0)');
    await eventually(
      async () => (await list.getByRole('listitem').first().getAttribute('aria-posinset')) === '1',
      { what: 'the first row is in view again', ...WITHIN },
    );
    expect(await list.getByRole('listitem').count()).toBeLessThan(80);
  });
});

/** Ended runs, as copies of one that did: a list does not ask how they came to be. */
async function manyRuns({ test, runs }: Story): Promise<void> {
  const like = runs[0];
  await test.store.service.transaction(async (c) => {
    await c.query('set local statement_timeout = 0');
    await c.query(
      `insert into headgate.run
       select (jsonb_populate_record(r, jsonb_build_object(
                'id', headgate.uuid7(), 'route', 'many', 'generation', n, 'status', 'QUEUED',
                'input_version', md5(n::text)))).*
         from headgate.run r cross join generate_series(2, $2::int + 1) n where r.id = $1`,
      [like?.runId, MANY],
    );
    await c.query("update headgate.run set status = 'EXPIRED' where route = 'many'");
  });
}
