import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FakeClone } from './fake-clone.js';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

describe('npm test', () => {
  /** A clone whose vitest reports these counts and ends with this code. */
  function cloneWhere(counts: object | null, code: number): FakeClone {
    const clone = new FakeClone();
    const report = counts
      ? `writeFileSync(process.env.HEADGATE_TEST_COUNTS, ${JSON.stringify(JSON.stringify(counts))});`
      : '';
    clone.write(
      'node_modules/vitest/vitest.mjs',
      `import { writeFileSync } from 'node:fs'; ${report}
       console.log('vitest', process.env.HEADGATE_DEPTH ?? 'normal', process.argv.slice(5).join(' '));
       process.exit(${code});`,
    );
    return clone;
  }
  const lastLine = (stdout: string) => stdout.trimEnd().split('\n').at(-1);

  test('ends with one plain line of numbers and succeeds when all passed', async () => {
    const ended = await cloneWhere({ passed: 12, failed: 0, skipped: 0 }, 0).run('test.mjs');
    expect([ended.code, lastLine(ended.stdout)]).toEqual([0, '12 passed, 0 failed']);
  });

  test('counts the skipped, and fails when one failed', async () => {
    const ended = await cloneWhere({ passed: 12, failed: 1, skipped: 3 }, 1).run('test.mjs');
    expect([ended.code, lastLine(ended.stdout)]).toEqual([1, '12 passed, 1 failed, 3 skipped']);
  });

  test('fails when no test ran, though nothing failed', async () => {
    const ended = await cloneWhere({ passed: 0, failed: 0, skipped: 4 }, 0).run('test.mjs');
    expect([ended.code, lastLine(ended.stdout)]).toEqual([1, '0 passed, 0 failed, 4 skipped']);
    expect(ended.stderr).toContain('no test ran');
  });

  test('counts a vitest that crashed as a failure', async () => {
    const ended = await cloneWhere(null, 134).run('test.mjs');
    expect([ended.code, lastLine(ended.stdout)]).toEqual([1, '0 passed, 1 failed']);
  });

  test('passes filters on and takes the depth from its own flags', async () => {
    const ended = await cloneWhere({ passed: 1, failed: 0, skipped: 0 }, 0).run('test.mjs', [
      '--deep',
      'packages/domain',
      '-t',
      'backoff',
    ]);
    expect(ended.stdout).toBe('vitest deep packages/domain -t backoff\n1 passed, 0 failed\n');
  });
});

test('what passed, failed, was skipped, could not be loaded or broke outside of a test is counted by vitest itself', () => {
  const folder = mkdtempSync(join(tmpdir(), 'counted-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'counts.json');
  const vitest = join(REPOSITORY, 'node_modules/vitest/vitest.mjs');
  const reporter = join(REPOSITORY, 'scripts/count-reporter.mjs');
  const ended = spawnSync(process.execPath, [vitest, 'run', `--reporter=${reporter}`], {
    cwd: fileURLToPath(new URL('counted', import.meta.url)),
    env: { ...process.env, HEADGATE_TEST_COUNTS: file },
    encoding: 'utf8',
  });
  expect(ended.status).toBe(1);
  // failed: the failing test, the file that throws, the failing hook, the rejection nobody handled
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ passed: 2, failed: 4, skipped: 2 });
});
