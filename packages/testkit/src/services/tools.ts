import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, TestRunner } from 'vitest';

/** Programs that some tests need and some machines lack: any of `commands` will do. */
export const TOOLS = {
  'redis-server': { commands: ['redis-server', 'valkey-server'], package: 'redis-server' },
  bwrap: { commands: ['bwrap'], package: 'bubblewrap' },
  chromium: { commands: ['chromium', 'chromium-browser', 'google-chrome'], package: 'chromium' },
  git: { commands: ['git'], package: 'git' },
  faketime: { commands: ['faketime'], package: 'faketime' },
  pgbouncer: { commands: ['pgbouncer'], package: 'pgbouncer' },
} as const;
export type ToolName = keyof typeof TOOLS;

/** The program's path; null when this machine has none. */
export function findTool(name: ToolName, path = process.env['PATH'] ?? ''): string | null {
  if (name === 'redis-server' && process.env['HEADGATE_NO_REDIS'] === '1') return null;
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
export function describeWithTool(name: ToolName, title: string, body: () => void): void {
  if (findTool(name) !== null || isEveryToolRequired()) describe(title, body);
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

function missing(name: ToolName): string {
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
