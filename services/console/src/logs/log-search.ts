/** Looks through a log for a text, a bounded stretch per answer: the reader goes on from where one ended. */
import type { FileHandle } from 'node:fs/promises';
import type { LogMatches } from '@headgate/sdk';
import { readForwards } from './log-range.js';

const MAX_MATCHES = 200;
const MAX_LOOKED_AT_BYTES = 16 * 1024 * 1024;
const STRETCH_BYTES = 1024 * 1024;
const MAX_LINE_CHARACTERS = 500;

export async function searchLog(
  handle: FileHandle,
  asked: { readonly text: string; readonly offset: number; readonly bytes: number },
): Promise<Pick<LogMatches, 'items' | 'nextOffset'>> {
  const wanted = asked.text.toLowerCase();
  const items: { offset: number; line: string }[] = [];
  let at = asked.offset;
  while (at < asked.bytes && at - asked.offset < MAX_LOOKED_AT_BYTES) {
    const stretch = await readForwards(handle, {
      offset: at,
      limit: STRETCH_BYTES,
      bytes: asked.bytes,
      isComplete: true,
    });
    // Nothing more can be read: it was cut meanwhile.
    if (stretch.nextOffset <= at) return { items, nextOffset: null };
    for (const { offset, line, end } of linesOf(stretch.offset, stretch.text)) {
      if (!line.toLowerCase().includes(wanted)) continue;
      items.push({ offset, line: around(line, wanted) });
      if (items.length === MAX_MATCHES) return { items, nextOffset: end < asked.bytes ? end : null };
    }
    at = stretch.nextOffset;
  }
  return { items, nextOffset: at < asked.bytes ? at : null };
}

function* linesOf(offset: number, text: string): Generator<{ offset: number; line: string; end: number }> {
  let at = offset;
  for (const whole of text.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
    const end = at + Buffer.byteLength(whole);
    yield { offset: at, line: whole.replace(/\r?\n$/, ''), end };
    at = end;
  }
}

/** A long line is cut to what stands around the text. */
function around(line: string, wanted: string): string {
  if (line.length <= MAX_LINE_CHARACTERS) return line;
  const place = line.toLowerCase().indexOf(wanted);
  const from = Math.max(0, Math.min(place - MAX_LINE_CHARACTERS / 4, line.length - MAX_LINE_CHARACTERS));
  return line.slice(from, from + MAX_LINE_CHARACTERS);
}
