import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, TestRunner } from 'vitest';
import { hasTestRedis } from './redis-for-tests.js';
import { TOOLS, type ToolName } from './tool-list.js';

/** What a test may need: a tool, or any Redis at all (a private one, fetched if need be). */
export type Need = ToolName | 'redis';

/** The program's path; null when this machine has none. */
export function findTool(name: ToolName, path = process.env['PATH'] ?? ''): string | null {
  const candidates = path
    .split(delimiter)
    .filter(Boolean)
    .flatMap((folder) => TOOLS[name].commands.map((command) => join(folder, command)));
  return candidates.find(isRunnable) ?? null;
}

/**
 * A group of tests that need a tool. Without it they are skipped with the reason in their title; where all tools
 * are required (HEADGATE_REQUIRE_ALL=1, as in CI) they run, and fail for want of it.
 */
export function describeWithTool(name: Need, title: string, body: () => void): void {
  const isHere = name === 'redis' ? hasTestRedis() : findTool(name) !== null;
  if (isHere || isEveryToolRequired()) describe(title, body);
  else describe.skip(`${title} (skipped: ${missing(name)})`, body);
}

/** The tool's path, inside a test: without it the test is skipped with the reason, or fails where all are required. */
export function requireTool(name: ToolName): string {
  const found = findTool(name);
  if (found !== null) return found;
  const test = TestRunner.getCurrentTest();
  if (test !== undefined && !isEveryToolRequired()) test.context.skip(missing(name));
  throw new Error(missing(name));
}

function isEveryToolRequired(): boolean {
  return process.env['HEADGATE_REQUIRE_ALL'] === '1';
}

function missing(name: Need): string {
  if (name === 'redis') return 'there is no redis-server or valkey-server, and none could be fetched';
  return `${name} is not here; install ${TOOLS[name].package}, or as root on Debian and Ubuntu set HEADGATE_INSTALL=1`;
}

function isRunnable(program: string): boolean {
  try {
    accessSync(program, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
