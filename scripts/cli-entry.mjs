// How the command is run from a clone.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

export const CLI_ENTRY = join(ROOT, 'packages/cli/dist/main.js');

/**
 * Modules to load before the command, in order: those that must see every other module being loaded. This is the
 * one place for them.
 */
const PRELOADS = ['packages/telemetry/dist/register.js'];
/** Commands that serve or examine themselves. The others make no traces, and start in half the time without. */
const TRACED = new Set(['up', 'intake', 'scheduler', 'worker', 'reconciler', 'console', 'doctor']);

/** @returns {string[]} the preloads of a command that have been built, as URLs */
export function preloads(command) {
  if (!TRACED.has(command)) return [];
  return PRELOADS.map((file) => join(ROOT, file))
    .filter(existsSync)
    .map((file) => pathToFileURL(file).href);
}
