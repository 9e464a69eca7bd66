/**
 * What an agent reports of its tool calls: one JSON object a line in the file that HEADGATE_TOOL_CALLS names,
 * `{"name":"edit_file","id":"1","startedAt":"…Z","endedAt":"…Z","error":null}`. It is the agent's word and no more: read
 * once after it has ended, bounded, and never a reason to fail. A line that is not understood is counted.
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { redactText } from '@headgate/telemetry';
import type { AttemptFolders } from './paths.js';

export interface ToolCall {
  readonly name: string;
  readonly id: string | null;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** What the tool failed with, in a word; null: it did not. */
  readonly error: string | null;
}

export interface ToolCalls {
  readonly calls: readonly ToolCall[];
  /** Lines that are no call, and calls beyond those that are kept. */
  readonly leftOut: number;
}

const MAX_BYTES = 1024 * 1024;
const MAX_CALLS = 1_000;
const MAX_CHARACTERS = 100;
const NONE: ToolCalls = { calls: [], leftOut: 0 };

export const toolCallsFile = (folders: AttemptFolders): string => join(folders.output, 'tool-calls.jsonl');

/** Calls are moved into the time in which the agent ran: its clock is the machine's, its word is not. */
export async function readToolCalls(
  folders: AttemptFolders,
  ran: { readonly fromMs: number; readonly toMs: number },
): Promise<ToolCalls> {
  // No link is followed and no pipe is waited for: the agent made what lies there.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(toolCallsFile(folders), flags).catch(() => null);
  if (file === null) return NONE;
  try {
    if (!(await file.stat()).isFile()) return NONE;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0);
    const lines = buffer.subarray(0, bytesRead).toString('utf8').split('\n').filter(Boolean);
    const read = lines.map((line) => toolCallOf(line, ran));
    const calls = read.filter((call) => call !== null).slice(0, MAX_CALLS);
    return { calls, leftOut: lines.length - calls.length };
  } catch {
    return NONE;
  } finally {
    await file.close();
  }
}

function toolCallOf(line: string, ran: { readonly fromMs: number; readonly toMs: number }): ToolCall | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { name, id, startedAt, endedAt, error } = value as Record<string, unknown>;
  const startedAtMs = instantOf(startedAt);
  if (typeof name !== 'string' || name === '' || startedAtMs === null) return null;
  const within = (ms: number): number => Math.min(Math.max(ms, ran.fromMs), ran.toMs);
  const from = within(startedAtMs);
  return {
    name: word(name),
    id: typeof id === 'string' && id !== '' ? word(id) : null,
    startedAtMs: from,
    endedAtMs: Math.max(from, within(instantOf(endedAt) ?? ran.toMs)),
    error: typeof error === 'string' && error !== '' ? word(error) : null,
  };
}

function instantOf(text: unknown): number | null {
  const ms = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return Number.isFinite(ms) ? ms : null;
}

const word = (text: string): string =>
  redactText(text)
    .replace(/[^\x20-\x7e]/g, '?')
    .slice(0, MAX_CHARACTERS);
