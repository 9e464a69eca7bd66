#!/usr/bin/env node
// npm start: sets the clone up, then runs everything in one process until Ctrl-C.
import './node-version.mjs';
import { run } from './children.mjs';
import { CLI_ENTRY, preloads } from './cli-entry.mjs';
import { ROOT, setUp } from './setup.mjs';

/** Longer than any drain: `up` bounds its own stop. */
const STOP_WITHIN_MS = 60_000;

await setUp();
const args = [
  ...preloads('up').flatMap((url) => ['--import', url]),
  CLI_ENTRY,
  'up',
  ...process.argv.slice(2),
];
const { code } = await run(process.execPath, args, {
  cwd: ROOT,
  show: true,
  stopSignal: null,
  graceMs: STOP_WITHIN_MS,
});
process.exit(code);
