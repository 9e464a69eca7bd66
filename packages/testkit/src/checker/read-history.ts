/** Reads what the recorders of all processes left in HEADGATE_HISTORY_DIR. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordedEntry } from '@headgate/telemetry';

const isEntry = (value: unknown): value is RecordedEntry =>
  typeof value === 'object' &&
  value !== null &&
  'seq' in value &&
  'proc' in value &&
  'monoNs' in value &&
  'op' in value &&
  'type' in value;

/** One file. A SIGKILL may tear the last line, and only that; anything else unreadable is an error. */
export function parseHistory(text: string, file: string): readonly RecordedEntry[] {
  const lines = text.split('\n');
  // What does not end with a line feed was never returned from `record`: the torn line of a killed process.
  lines.pop();
  const entries = lines.map((line, index) => {
    const value: unknown = JSON.parse(line);
    if (!isEntry(value)) throw new Error(`${file}:${index + 1} is no history entry.`);
    return value;
  });
  for (const [index, entry] of entries.entries()) {
    if (entry.seq !== index + 1)
      throw new Error(`${file}:${index + 1} has seq ${entry.seq}: lines are missing.`);
  }
  return entries;
}

/** The history of every process, one after the other. */
export function readHistory(directory: string): readonly RecordedEntry[] {
  const files = readdirSync(directory).filter((name) => name.endsWith('.jsonl'));
  return files.sort().flatMap((name) => parseHistory(readFileSync(join(directory, name), 'utf8'), name));
}
