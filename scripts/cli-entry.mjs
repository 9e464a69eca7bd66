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

/** @returns {string[]} the preloads that have been built, as URLs */
export function preloads() {
  return PRELOADS.map((file) => join(ROOT, file))
    .filter(existsSync)
    .map((file) => pathToFileURL(file).href);
}
