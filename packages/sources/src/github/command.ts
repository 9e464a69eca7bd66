/**
 * Commands in comments: `/agent fix the flaky test`.
 *
 * Read strictly, since a comment quotes, shows and explains commands more often than it gives one: only at the very
 * start of a line, and not in a quote, a code block or an HTML comment. Of several commands the first one counts.
 */
import type { Command } from '@headgate/domain';

/** GitHub's longest comment; more is not read. */
const MOST_CHARACTERS = 65_536;
const COMMAND = /^\/agent[ \t]+([a-z][a-z0-9-]{0,39})(?:[ \t]+(.*))?$/;
/** Up to three blanks, then three or more back-ticks or tildes. */
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const MOST_ARGUMENT_CHARACTERS = 1_000;

/** Null: the text gives no command. */
export function commandOf(text: string | null): Command | null {
  if (text === null || !text.includes('/agent')) return null;
  const lines = withoutComments(text.slice(0, MOST_CHARACTERS)).split(/\r\n|\r|\n/);
  let fence: string | null = null;
  let isQuoted = false;
  for (const line of lines) {
    const mark = FENCE.exec(line)?.[1] ?? null;
    if (fence !== null) {
      if (mark !== null && closes(line, mark, fence)) fence = null;
      continue;
    }
    if (mark !== null) {
      fence = mark;
      continue;
    }
    // A line right after a quoted one goes on with the quote (lazy continuation) until a blank line.
    if (/^ {0,3}>/.test(line)) isQuoted = true;
    else if (line.trim() === '') isQuoted = false;
    const found = isQuoted ? null : COMMAND.exec(line);
    if (found?.[1] === undefined) continue;
    return { name: found[1], argument: (found[2] ?? '').trim().slice(0, MOST_ARGUMENT_CHARACTERS) };
  }
  return null;
}

/** As long as the opening one at least, of the same sign, and nothing behind it. */
const closes = (line: string, mark: string, fence: string): boolean =>
  mark.startsWith(fence) && line.trim() === mark;

/** An HTML comment that is not closed goes to the end. What stood in one keeps its line breaks. */
function withoutComments(text: string): string {
  let rest = text;
  let kept = '';
  for (;;) {
    const start = rest.indexOf('<!--');
    if (start < 0) return kept + rest;
    const end = rest.indexOf('-->', start + 4);
    const inside = end < 0 ? rest.slice(start) : rest.slice(start, end + 3);
    // Something stood there: what follows on its line is not at the start of one.
    kept += `${rest.slice(0, start)} ${inside.replace(/[^\n]/g, '')} `;
    if (end < 0) return kept;
    rest = rest.slice(end + 3);
  }
}
