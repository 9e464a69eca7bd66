import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { headgate, temporaryFolder } from './command-line.js';
import { fakeInstance, problem } from './instance.js';
import { RUN } from './samples.js';

describe('exit codes', () => {
  it.each([
    ['an unknown command', ['bogus']],
    ['a command without its argument', ['why']],
    ['an unknown option', ['status', '--nope']],
    ['a number that is none', ['send', '--count', '0']],
    ['a duration without a unit', ['send', '--timeout', '30']],
    ['a time that is none', ['runs', '--since', 'yesterday']],
    ['a status that is none', ['runs', '--status', 'done']],
    ['a target that is none', ['trigger', 'tidy', '--target', 'acme']],
    ['an input without a value', ['trigger', 'tidy', '--input', 'x']],
    ['a priority that is none', ['trigger', 'tidy', '--priority', 'soon']],
  ])('2 for %s, and nothing on stdout', async (_what, words) => {
    const dataDir = await temporaryFolder();
    const { code, out, note } = await headgate(words, { dataDir });
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(note).not.toBe('');
  });

  it('2 for an environment that cannot work, naming the variable', async () => {
    const dataDir = await temporaryFolder();
    const { code, note } = await headgate(['status'], { dataDir, env: { HEADGATE_PORT: 'eighty' } });
    expect(code).toBe(2);
    expect(note).toContain('HEADGATE_PORT');
    expect(note).toContain('Write a number from 1 to 65535.');
  });

  it('4 when no instance runs on the data folder, and says how to start one', async () => {
    const dataDir = await temporaryFolder();
    const { code, out, note } = await headgate(['runs'], { dataDir });
    expect({ code, out }).toEqual({ code: 4, out: '' });
    expect(note).toContain('headgate up');
  });

  it('4 when nothing listens where HEADGATE_URL points', async () => {
    const dataDir = await temporaryFolder();
    const env = { HEADGATE_URL: 'http://127.0.0.1:1', HEADGATE_TOKEN: 'x' };
    for (const words of [['runs'], ['status'], ['why', 'x'], ['trigger', 'tidy']]) {
      expect(await headgate(words, { dataDir, env })).toMatchObject({ code: 4, out: '' });
    }
  });

  it.each([
    [401, 'UNAUTHORIZED', 5],
    [403, 'FORBIDDEN', 5],
    [404, 'NOT_FOUND', 3],
    [409, 'WORK_IN_PROGRESS', 1],
    [429, 'QUEUE_FULL', 1],
    [500, 'INTERNAL_ERROR', 1],
  ])('an answer of %i (%s) ends with %i, its detail and its receipt', async (status, code, expected) => {
    const dataDir = await temporaryFolder();
    await fakeInstance(dataDir, () => problem(status, code, 'Do this instead.', 'rcpt_9'));
    const said = await headgate(['trigger', 'tidy'], { dataDir });
    expect(said.code).toBe(expected);
    expect(said.out).toBe('');
    for (const part of [code, 'Do this instead.', 'rcpt_9']) expect(said.note).toContain(part);
  });

  it('3 for "why" of something unknown, which is still one document with --json', async () => {
    const dataDir = await temporaryFolder();
    const body = {
      ref: 'nope',
      kind: 'none',
      summary: 'Nothing is known.',
      steps: [],
      waiting: null,
      candidates: [],
    };
    await fakeInstance(dataDir, () => ({ status: 200, body }));
    const said = await headgate(['why', 'nope', '--json'], { dataDir });
    expect(said.code).toBe(3);
    expect(JSON.parse(said.out)).toEqual(body);
  });

  it('1 when a run that was waited for failed, 0 when it succeeded', async () => {
    for (const [publicStatus, expected] of [
      ['failed', 1],
      ['cancelled', 1],
      ['succeeded', 0],
    ] as const) {
      const dataDir = await temporaryFolder();
      await fakeInstance(dataDir, ({ method }) => ({
        status: method === 'POST' ? 202 : 200,
        body: method === 'POST' ? ANSWER : { ...RUN, publicStatus },
      }));
      expect(await headgate(['trigger', 'tidy', '--wait'], { dataDir })).toMatchObject({ code: expected });
    }
  });

  it('6 when a run that was waited for does not end in time', async () => {
    const dataDir = await temporaryFolder();
    await fakeInstance(dataDir, ({ method }) => ({
      status: method === 'POST' ? 202 : 200,
      body: method === 'POST' ? ANSWER : { ...RUN, status: 'RUNNING', publicStatus: 'running' },
    }));
    const said = await headgate(['trigger', 'tidy', '--wait', '--timeout', '50ms'], { dataDir });
    expect(said.code).toBe(6);
    expect(said.note).toContain('headgate runs show run_01k');
  });

  it('2 for a broken configuration, with the line and the fix of each problem', async () => {
    const dataDir = await temporaryFolder();
    const file = join(dataDir, 'headgate.yaml');
    await writeFile(file, 'version: 1\nroutes:\n  tidy:\n    on: [manual]\n    moed: act\n');
    const said = await headgate(['check-config', file], { dataDir });
    expect(said.code).toBe(2);
    expect(said.note).toMatch(/headgate\.yaml:5:\d+ {2}routes\.tidy\.moed/);
    expect(said.note).toContain('Did you mean "mode"?');
    const asJson = await headgate(['check-config', file, '--json'], { dataDir });
    expect(asJson.code).toBe(2);
    expect(JSON.parse(asJson.out)).toMatchObject({ ok: false });
  });
});

const ANSWER = {
  receiptId: 'rcpt_01k',
  outcome: 'accept',
  reasonCode: 'ADMITTED',
  message: 'The work was admitted and a run was made.',
  runId: 'run_01k',
  taskId: 'task_01k',
  existing: false,
  retryAfter: null,
};
