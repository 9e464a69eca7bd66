/** `headgate runs cancel|retry` of many, as it asks the API. */
import { describe, expect, it } from 'vitest';
import { headgate, temporaryFolder } from './command-line.js';
import { fakeInstance } from './instance.js';
import { RUN } from './samples.js';

const run = (change: Record<string, unknown> = {}) => ({
  ...{ runId: 'run_01k', status: 'QUEUED', outcome: 'possible', newRunId: null, code: null, detail: null },
  ...change,
});
const preview = (change: Record<string, unknown> = {}) => ({
  status: 202,
  body: {
    ...{ action: 'cancel', dryRun: true, count: 1, more: false, token: 'to.ken-1', runs: [run()] },
    ...change,
  },
});
const done = (...runs: unknown[]) => ({
  status: 202,
  body: { action: 'cancel', dryRun: false, count: 1, more: false, token: null, runs },
});

async function asking(say: Parameters<typeof fakeInstance>[1]) {
  const dataDir = await temporaryFolder();
  const { heard } = await fakeInstance(dataDir, say);
  return { heard, run: (words: readonly string[]) => headgate(words, { dataDir }) };
}

const CHOICE = ['--route', 'tidy', '--status', 'waiting', '--work-key', "it's", '--since', '10s'];
const FILTER = {
  route: 'tidy',
  publicStatus: 'waiting',
  workKey: "it's",
  since: '2026-01-31T13:50:00.000Z',
};

/** As a shell reads it. */
const wordsOf = (line: string): readonly string[] =>
  [...line.matchAll(/(?:'[^']*'|\\.|[^\s'\\])+/g)].map(([word]) =>
    word.replaceAll(/'([^']*)'|\\(.)/g, (_all, quoted, escaped) => quoted ?? escaped),
  );

describe('many runs at once', () => {
  it('are looked at first, and the command that is printed does exactly that', async () => {
    const { heard, run: say } = await asking(({ body }) =>
      JSON.parse(body).dryRun === true ? preview() : done(run({ outcome: 'done' })),
    );
    const looked = await say(['runs', 'cancel', ...CHOICE, '--dry-run', '--reason', 'incident 7']);
    expect(looked.code).toBe(0);
    expect(looked.out).toContain('1 run would be cancelled. Nothing was done.');
    const command = looked.out.split('\n').find((line) => line.includes('--token')) ?? '';

    const acted = await say(wordsOf(command.trim()).slice(1));

    expect(acted).toMatchObject({ code: 0, out: expect.stringContaining('1 run cancelled.') });
    expect(heard.map(({ method, url, body }) => [method, url, JSON.parse(body)])).toEqual([
      ['POST', '/v1/runs:bulk', { action: 'cancel', filter: FILTER, dryRun: true, reason: 'incident 7' }],
      [
        'POST',
        '/v1/runs:bulk',
        { action: 'cancel', filter: FILTER, dryRun: false, token: 'to.ken-1', reason: 'incident 7' },
      ],
    ]);
  });

  it('retry is a replay; several ids are many, and one with --dry-run is, too', async () => {
    const { heard, run: say } = await asking(() => preview({ action: 'replay', more: true }));
    const told = await say(['runs', 'retry', 'run_1', 'run_2', '--dry-run']);
    expect(told.out).toContain('headgate runs retry run_1 run_2 --token to.ken-1');
    expect(told.out).toContain('More match');
    await say(['runs', 'retry', 'run_1', '--dry-run', '--json']);
    expect(heard.map(({ body }) => JSON.parse(body))).toEqual([
      { action: 'replay', filter: { ids: 'run_1,run_2' }, dryRun: true },
      { action: 'replay', filter: { ids: 'run_1' }, dryRun: true },
    ]);
  });

  it('what was left alone says why, and the command ends with 1', async () => {
    const skipped = run({ runId: 'run_2', outcome: 'skipped', code: 'WRONG_STATE', detail: 'It has ended.' });
    const { run: say } = await asking(() => done(run({ outcome: 'requested' }), skipped));
    const told = await say(['runs', 'cancel', '--route', 'tidy', '--token', 't']);
    expect(told.code).toBe(1);
    expect(told.out).toContain('WRONG_STATE: It has ended.');
    expect(told.out).toContain('0 runs cancelled. 1 run asked to stop. 1 run left alone');
  });

  it('one by its id is acted on as ever', async () => {
    const { heard, run: say } = await asking(() => ({ status: 202, body: RUN }));
    await say(['runs', 'cancel', 'run_01k']);
    expect(heard.map(({ url }) => url)).toEqual(['/v1/runs/run_01k/cancel']);
  });

  it.each([
    [['cancel'], 'Which runs to cancel is not said'],
    [['retry', '--dry-run'], 'Which runs to retry is not said'],
    [['cancel', '--route', 'tidy'], '--dry-run first'],
    [['cancel', 'run_1', 'run_2'], '--dry-run first'],
    [['cancel', '--route', 'tidy', '--dry-run', '--token', 't'], 'not both'],
    [['retry', '--route', 'tidy', '--dry-run', '--wait'], 'for one run'],
    [['cancel', '--status', 'odd', '--dry-run'], 'waiting'],
  ])('%j asks nothing of the instance, and says what to write', async (words, sentence) => {
    const { heard, run: say } = await asking(() => preview());
    const told = await say(['runs', ...words]);
    expect(told.code).toBe(2);
    expect(told.note).toContain(sentence);
    expect(heard).toEqual([]);
  });
});
