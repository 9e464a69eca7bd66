/** Schedules and goals in a real browser. */
import { describeWithTool } from '@headgate/testkit';
import type { Browser } from 'playwright-core';
import { beforeAll, expect, it, vi } from 'vitest';
import { aBrowser, aWindow, LOOKS, signIn, TIMEOUTS, type Window } from './browser.js';
import { aTimersStory, type TimersStory, ZONE } from './timers-story.js';

vi.setConfig(TIMEOUTS);

describeWithTool('chromium', 'schedules and goals in the web console', () => {
  let browser: Browser;
  let story: TimersStory;
  beforeAll(async () => {
    browser = await aBrowser();
    story = await aTimersStory();
  });
  const enter = async (options: Parameters<typeof aWindow>[1] = {}, token?: string): Promise<Window> => {
    const window = await aWindow(browser, options);
    await signIn(window, story.test.url, token ?? story.test.tokens.operator);
    return window;
  };

  it('I2: shows what each time of a schedule became, and pauses it with a note that the next reader sees', async () => {
    const { page } = await enter();
    await page.getByRole('link', { name: 'Schedules' }).click();
    await page.getByRole('list', { name: 'Schedules' }).getByText('weekly-deps').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    const last = page.getByRole('region', { name: 'Last times' });
    await last.getByText('MISSED_CATCHUP').waitFor();
    expect(await last.getByRole('listitem').count()).toBe(5);
    expect(await last.textContent()).toContain('2 times');
    const next = page.getByRole('region', { name: 'Next times' }).getByRole('listitem');
    expect(await next.count()).toBe(10);
    // A reader in another zone sees the schedule's own clocks too.
    expect(await next.first().textContent()).toContain('+05:45');
    expect(
      await page.getByRole('region', { name: 'Next times' }).getByRole('heading').textContent(),
    ).toContain(ZONE);
    const timer = page.getByRole('row').filter({ hasText: 'timer' });
    expect(await timer.getByRole('cell').allTextContents()).toEqual(['timer', '2', '0', '1', '2', '5']);

    await page.getByRole('button', { name: 'Pause…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Pause this schedule?' });
    await dialog.getByLabel('Note').fill('release week');
    await dialog.getByRole('button', { name: 'Pause schedule' }).click();
    const why = page.getByRole('region', { name: 'Why it is paused' });
    await why.getByText('release week').waitFor();
    expect(await why.textContent()).toContain('token:operator');
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Pause…' }).waitFor();
    // Why says the same times by the same clocks, and leads back here.
    await page.goto(`${story.test.url}/why?ref=${story.schedule}`);
    const summary = page.getByText('of route weekly-deps is active; its next time is');
    await summary.locator('time').first().waitFor();
    expect(await summary.textContent()).not.toMatch(/\dT\d/);
    await page.getByRole('link', { name: 'open the schedule' }).click();
    await page.getByRole('heading', { level: 1, name: 'weekly-deps' }).waitFor();
  });

  it('I2: counts a back-fill before it runs it, and shows how far it is', async () => {
    const { page } = await enter();
    await page.goto(`${story.test.url}/schedules/${story.schedule}`);
    await page.getByRole('button', { name: 'Back-fill…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Run times that have passed' });
    const field = (at: Date): string => at.toISOString().slice(0, 19);
    await dialog.getByLabel('From').fill(field(story.at(1)));
    await dialog.getByLabel('Until').fill(field(story.at(5)));
    await dialog.getByLabel('Overlap').selectOption('bufferAll');
    await dialog.getByRole('button', { name: 'Count them' }).click();
    await dialog.getByText('3 of 5 nominal times would run; 2 were fired before').waitFor();
    await dialog.getByLabel('Until').fill(field(story.at(2)));
    // What was counted is no longer what would be run.
    await dialog.getByRole('button', { name: 'Count them' }).click();
    await dialog.getByRole('button', { name: 'Run 2 times' }).click();
    await dialog.waitFor({ state: 'detached' });
    const asked = page.getByRole('region', { name: 'Asked by people' }).getByRole('row').nth(1);
    await asked.getByText('pending').waitFor();
    expect(await asked.textContent()).toContain('bufferAll');

    await page.getByRole('button', { name: 'Run now…' }).click();
    const now = page.getByRole('dialog', { name: 'Run this schedule now?' });
    await now.getByLabel('Reason').fill('after the incident');
    await now.getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('cell', { name: 'after the incident' }).waitFor();
  });

  it('I2: shows what a goal saw each time, how much of its bounds is used, and begins it anew', async () => {
    const { page } = await enter();
    await page.getByRole('link', { name: 'Goals' }).click();
    await page.getByRole('list', { name: 'Goals' }).getByText('1 of 3 runs').waitFor();
    await page.getByRole('link', { name: 'no-fixme' }).click();
    await page.getByText('it took longer than 60 s').waitFor();
    await page.getByText('what it said').first().click();
    await page.getByText('src/add.js:9: // FIXME names').waitFor();
    // The looks are runs too, and told apart from work.
    await page.getByRole('link', { name: 'look' }).first().click();
    await page.getByText('An observation for a goal: no agent').waitFor();
    await page.goBack();
    const bounds = await page.getByRole('region', { name: 'Bounds' }).textContent();
    for (const words of ['1 of 3', '1 of 3 in a row', '$1.20 of $5.00', '2 h'])
      expect(bounds).toContain(words);

    await page.getByRole('button', { name: 'Begin anew…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Begin anew' }).click();
    await page.getByText('0 of 3', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Pause…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Pause this goal?' });
    await dialog.getByRole('button', { name: 'Pause goal' }).click();
    await page.getByRole('button', { name: 'Resume' }).waitFor();
  });

  it('shows a viewer what there is, and no button', async () => {
    const { page } = await enter({}, story.test.tokens.viewer);
    for (const path of [`/schedules/${story.schedule}`, `/goals/${story.goal}`]) {
      await page.goto(story.test.url + path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      const acts = page
        .getByRole('main')
        .getByRole('button', { name: /Pause|Resume|Run now|Back-fill|anew/ });
      expect(await acts.count(), path).toBe(0);
    }
  });

  for (const { scheme, width } of LOOKS) {
    it(`is accessible and fits, ${scheme}, ${width} pixels wide`, async () => {
      const window = await enter({ scheme, width });
      const { page } = window;
      for (const [name, path, seen] of [
        ['schedules', '/schedules', 'text=weekly-deps'],
        ['schedule', `/schedules/${story.schedule}`, 'text=MISSED_CATCHUP'],
        ['goals', '/goals', 'text=no-fixme'],
        ['goal', `/goals/${story.goal}`, 'text=it took longer'],
      ] as const) {
        await page.goto(story.test.url + path);
        await page.locator(seen).first().waitFor();
        await window.inspect(name);
      }
      await page.goto(`${story.test.url}/schedules/${story.schedule}`);
      await page.getByRole('button', { name: 'Back-fill…' }).click();
      await page.getByRole('button', { name: 'Count them' }).click();
      await page.getByText('nominal times would run').waitFor();
      await window.inspect('backfill');
    });
  }
});
