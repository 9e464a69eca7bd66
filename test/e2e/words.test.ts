/** A person's word on a run, and the demo's page, in a real browser. */
import { formatId } from '@headgate/domain';
import { describeWithTool, proposedRun } from '@headgate/testkit';
import type { Browser } from 'playwright-core';
import { beforeAll, expect, it, vi } from 'vitest';
import { aBrowser, aWindow, LOOKS, signIn, TIMEOUTS, type Window } from './browser.js';
import { aWordsStory, DELIVERIES, DEMO, type WordsStory } from './words-story.js';

vi.setConfig(TIMEOUTS);

/** Words that reach beyond their lane of the timeline; a bar cuts its own, and a pin has its middle on the instant. */
const BEYOND_A_LANE = `[...document.querySelectorAll('[aria-label="Timeline"] li > div')].flatMap((lane) => {
  const { left, right } = lane.getBoundingClientRect();
  return [...lane.children].filter((one) => one.querySelector('span') === null && !one.matches('.hidden'))
    .flatMap((one) => {
      const at = one.getBoundingClientRect();
      return at.left < left - 3 || at.right > right + 3 ? [one.textContent] : [];
    });
})`;

describeWithTool('chromium', 'a person’s word in the web console', () => {
  let browser: Browser;
  let story: WordsStory;
  beforeAll(async () => {
    browser = await aBrowser();
    story = await aWordsStory();
  });
  const enter = async (options: Parameters<typeof aWindow>[1] = {}, token?: string): Promise<Window> => {
    const window = await aWindow(browser, options);
    await signIn(window, story.test.url, token ?? story.test.tokens.approver);
    return window;
  };
  const proposal = (at: number) => {
    const run = story.proposals[at];
    if (run === undefined) throw new Error(`no proposal ${at}`);
    return { ...run, path: `${story.test.url}/runs/${formatId('run', run.runId)}` };
  };

  it('publishes a sealed result: who says it sees its digest, what will be done, and what has become of it', async () => {
    const { page } = await enter();
    const { path, resultSha256 } = proposal(0);
    await page.goto(path);
    const word = page.getByRole('region', { name: 'A person’s word' });
    await word.getByText(`sha256 ${resultSha256.slice(0, 16)}`).waitFor();
    await page.getByRole('button', { name: 'Publish…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Publish this result?' });
    const said = await dialog.textContent();
    for (const part of [
      resultSha256.slice(0, 16),
      'agent/fix-add',
      'acme/api',
      'a new branch',
      'cccccccccccc',
    ]) {
      expect(said).toContain(part);
    }
    await dialog.getByLabel('Reason').fill('reads well');
    await dialog.getByRole('button', { name: 'Publish' }).click();
    await dialog.waitFor({ state: 'detached' });
    await word.getByText('approved').waitFor();
    expect(await word.textContent()).toContain('by token:approver');
    expect(await word.textContent()).toContain('reads well');
    expect(await page.getByRole('button', { name: /Publish|Discard/ }).count()).toBe(0);
  });

  it('discards a result, and approves or declines work that has not begun', async () => {
    const { page } = await enter();
    await page.goto(proposal(1).path);
    await page.getByRole('button', { name: 'Discard…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
    await page.getByText('PROPOSAL_DISCARDED').first().waitFor();
    await page.goto(`${story.test.url}/runs/${formatId('run', story.admission.runId)}`);
    await page.getByRole('button', { name: 'Approve…' }).waitFor();
    await page.getByRole('button', { name: 'Decline…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Decline' }).click();
    await page.getByText('APPROVAL_DECLINED').first().waitFor();
  });

  it('shows the loss of a worker where its lease ran out, its heartbeats, and who took over', async () => {
    const { page } = await enter();
    await page.goto(`${story.test.url}/runs/${story.taken}`);
    const lanes = page.getByRole('region', { name: 'Timeline' }).getByRole('listitem');
    const lost = lanes.filter({ hasText: 'attempt 1' });
    await lost.getByText(/^✕ lost/).waitFor();
    expect(await lost.textContent()).toContain('renewed 4 times');
    expect(await lost.getByTitle('the lease ran out here').count()).toBe(1);
    expect(await lanes.filter({ hasText: 'attempt 2' }).textContent()).toContain('took over');
  });

  it('the page of a demo counts 1 run, 1 branch, 20 receipts, from the newest demo on', async () => {
    const window = await enter();
    const { page } = window;
    await page.goto(`${story.test.url}/demo`);
    await page.getByRole('link', { name: /^The newest demo/ }).click();
    const promise = page.getByRole('heading', { level: 1 });
    await promise.filter({ hasText: `1 run, 1 branch, ${DELIVERIES} receipts` }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/demo/${DEMO}`);
    await page.getByText('2 attempts, and 1 confirmed side effect.').waitFor();
    const arrived = page.getByRole('region', { name: 'Receipts' }).getByRole('listitem');
    expect(await arrived.count()).toBe(DELIVERIES);
    expect(await arrived.filter({ hasText: 'ADMITTED' }).count()).toBe(1);
    await window.inspect('demo-ended');
  });

  for (const { scheme, width } of LOOKS) {
    it(`is accessible and fits, ${scheme}, ${width} pixels wide`, async () => {
      const { store, tenant } = story.test;
      const open = formatId('run', (await proposedRun(store, { tenant })).runId);
      const window = await enter({ scheme, width });
      const { page } = window;
      for (const [name, path, seen] of [
        ['run-proposal', `/runs/${open}`, 'text=The result is sealed'],
        ['run-taken-over', `/runs/${story.taken}`, 'text=took over'],
        ['demo-page', `/demo/${DEMO}`, 'text=confirmed side effect'],
      ] as const) {
        await page.goto(story.test.url + path);
        await page.locator(seen).first().waitFor();
        expect(await page.evaluate(BEYOND_A_LANE), name).toEqual([]);
        await window.inspect(name);
      }
      await page.goto(`${story.test.url}/runs/${open}`);
      await page.getByRole('button', { name: 'Publish…' }).click();
      await page.getByRole('dialog').waitFor();
      await window.inspect('publish');
    });
  }
});
