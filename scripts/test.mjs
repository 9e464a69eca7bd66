#!/usr/bin/env node
// npm test: sets the clone up, runs the tests, and ends with one plain line: "N passed, N failed[, N skipped]".
//
//   npm test -- packages/domain -t backoff   filters, as vitest takes them
//   npm test -- --deep                       the same tests, more thorough
//   npm test -- --soak                       the long runs
import './node-version.mjs';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onInterrupt, run } from './children.mjs';
import { installTools } from './install-tools.mjs';
import { ROOT, setUp } from './setup.mjs';

/** vitest stops the servers that its tests share. */
const STOP_WITHIN_MS = 20_000;

const asked = process.argv.slice(2);
const depths = asked.filter((arg) => arg === '--deep' || arg === '--soak').map((arg) => arg.slice(2));
const filters = asked.filter((arg) => arg !== '--deep' && arg !== '--soak');

const { env } = await setUp();
if (process.env['HEADGATE_INSTALL'] === '1') await installTools();

const folder = mkdtempSync(join(tmpdir(), 'headgate-counts-'));
const removeFolder = () => rmSync(folder, { recursive: true, force: true });
onInterrupt(removeFolder);
const countsFile = join(folder, 'counts.json');
const { code } = await run(
  process.execPath,
  [
    join(ROOT, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--reporter=default',
    `--reporter=${join(ROOT, 'scripts/count-reporter.mjs')}`,
    ...filters,
  ],
  {
    cwd: ROOT,
    env: { ...env, HEADGATE_TEST_COUNTS: countsFile, ...(depths[0] ? { HEADGATE_DEPTH: depths[0] } : {}) },
    show: true,
    stopSignal: 'SIGINT',
    graceMs: STOP_WITHIN_MS,
  },
);
const counts = readCounts();
removeFolder();

const { passed, skipped } = counts;
// What failed before the tests in the same run (.ci/run) belongs to its one result.
const failed = counts.failed + Number(process.env['HEADGATE_FAILED_BEFORE'] ?? 0);
if (passed + failed === 0) console.error('Headgate: no test ran.');
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exitCode = code !== 0 || failed > 0 || passed === 0 ? 1 : 0;

function readCounts() {
  try {
    return JSON.parse(readFileSync(countsFile, 'utf8'));
  } catch {
    // vitest ended before it could report: a failure, unless it found nothing to run.
    return { passed: 0, failed: code === 0 ? 0 : 1, skipped: 0 };
  }
}
