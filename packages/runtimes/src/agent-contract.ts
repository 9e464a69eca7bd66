/**
 * What an agent is given and what it leaves (the agent contract, version 1).
 *
 * Given: the working directory with the repository's files; HEADGATE_INPUT, the path of `run.json` (an
 * `AgentInput`) in a read-only folder beside it; no credentials. Left: changed files in the working directory,
 * and optionally a JSON file at HEADGATE_RESULT with `{"summary": "…"}`. What it prints is its log. Exit code 0
 * means that it is done, with or without changes.
 */
import { constants } from 'node:fs';
import { chmod, mkdir, open, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { redactText } from '@headgate/telemetry';
import type { AttemptFolders } from './paths.js';
import { plainText } from './plain-text.js';
import { SYSTEM_PATH } from './sandbox/launch.js';

export interface AgentInput {
  readonly version: 1;
  readonly run: { readonly id: string; readonly attempt: number };
  readonly task: { readonly id: string; readonly route: string; readonly workKey: string };
  readonly repository: { readonly fullName: string; readonly baseSha: string; readonly ref: string | null };
  readonly target: { readonly kind: string; readonly id: string } | null;
  readonly prompt: string | null;
}

/** A file from outside (an issue's text, a check's log), for the agent to read and not to trust. */
export interface ContextFile {
  readonly name: string;
  readonly content: string;
}

/** Writes the input folder and makes it read-only. Gives the path of `run.json`. */
export async function writeAgentInput(
  folders: AttemptFolders,
  input: AgentInput,
  context: readonly ContextFile[] = [],
): Promise<string> {
  const contextDir = join(folders.input, 'context');
  await mkdir(contextDir, { recursive: true });
  const names: string[] = [];
  for (const file of context) {
    if (!/^[\w][\w.-]*$/.test(file.name))
      throw new TypeError(`not a file's name: ${JSON.stringify(file.name)}`);
    await writeFile(join(contextDir, file.name), file.content, { mode: 0o444 });
    names.push(`context/${file.name}`);
  }
  if (input.prompt !== null) await writeFile(join(folders.input, 'prompt.md'), input.prompt, { mode: 0o444 });
  const runFile = join(folders.input, 'run.json');
  await writeFile(runFile, `${JSON.stringify({ ...input, context: names }, null, 2)}\n`, { mode: 0o444 });
  await chmod(contextDir, 0o555);
  await chmod(folders.input, 0o555);
  return runFile;
}

/**
 * The whole environment of an agent. Nothing of the worker's is in it; the route's own variables come first,
 * so that they cannot replace what the contract promises.
 */
export function agentEnvironment(
  folders: AttemptFolders,
  routeEnv: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return {
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    CI: 'true',
    ...routeEnv,
    // The worker's own Node first: the example agent and `node --test` need one.
    PATH: [dirname(process.execPath), ...SYSTEM_PATH.split(delimiter)].join(delimiter),
    HOME: folders.home,
    TMPDIR: folders.tmp,
    HEADGATE_WORKSPACE: folders.workspace,
    HEADGATE_INPUT: join(folders.input, 'run.json'),
    HEADGATE_RESULT: join(folders.output, 'result.json'),
  };
}

const MAX_RESULT_BYTES = 64 * 1024;
const MAX_SUMMARY_CHARACTERS = 4_000;

export type AgentResult =
  | { readonly kind: 'result'; readonly summary: string }
  | { readonly kind: 'none' }
  | { readonly kind: 'unreadable'; readonly detail: string };

/** What the agent says of its work. The text is made harmless, since it will be posted. */
export async function readAgentResult(folders: AttemptFolders): Promise<AgentResult> {
  const path = join(folders.output, 'result.json');
  // No link is followed and no pipe is waited for: the agent made what lies there.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => error,
  );
  if (file instanceof Error) {
    return file.code === 'ENOENT'
      ? { kind: 'none' }
      : { kind: 'unreadable', detail: `result.json: ${file.code}` };
  }
  try {
    const { size } = await file.stat();
    if (!(await file.stat()).isFile())
      return { kind: 'unreadable', detail: 'result.json is not a plain file' };
    if (size > MAX_RESULT_BYTES) {
      return { kind: 'unreadable', detail: `result.json is larger than ${MAX_RESULT_BYTES} bytes` };
    }
    const parsed: unknown = JSON.parse(await file.readFile('utf8'));
    const summary =
      typeof parsed === 'object' && parsed !== null && 'summary' in parsed ? parsed.summary : null;
    if (typeof summary !== 'string') return { kind: 'unreadable', detail: 'result.json has no summary' };
    return { kind: 'result', summary: plainText(redactText(summary), MAX_SUMMARY_CHARACTERS) };
  } catch (error) {
    return {
      kind: 'unreadable',
      detail: `result.json: ${error instanceof Error ? error.message : String(error)}`,
    };
  } finally {
    await file.close();
  }
}
