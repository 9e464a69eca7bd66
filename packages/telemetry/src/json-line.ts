/** One value as one line of JSON, for the files that tests read: bigints become strings, dates ISO text. */
import { writeSync } from 'node:fs';

export function toJsonLine(value: unknown): string {
  const text = JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'bigint' ? member.toString() : member,
  );
  return `${text}\n`;
}

/**
 * Appends a whole line to a descriptor opened with O_APPEND. Normally one write call; the loop is for a signal
 * or a full disk that cut it short. What it returned for survives a SIGKILL.
 */
export function appendLine(fd: number, line: string): void {
  const bytes = Buffer.from(line, 'utf8');
  let written = 0;
  while (written < bytes.length) written += writeSync(fd, bytes, written);
}
