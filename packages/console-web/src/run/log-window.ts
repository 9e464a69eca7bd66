/**
 * The part of a log that a page holds. A log may have 100 MB and grow: the page keeps a stretch of whole lines, adds at
 * either end what it reads, and lets go of the other end. Pure.
 */
import type { LogRange } from '@headgate/sdk';

export interface LogLine {
  /** Where it begins in the log, in bytes. */
  readonly offset: number;
  readonly text: string;
}

export interface LogWindow {
  /** Of the first line held, and behind the last byte held. */
  readonly start: number;
  readonly end: number;
  /** Of the whole log, when it was last asked. */
  readonly bytes: number;
  readonly isComplete: boolean;
  readonly lines: readonly LogLine[];
  /** The last line has no end yet. */
  readonly isLastOpen: boolean;
}

/** Lines held at most: some 20 MB of text. */
export const MAX_LINES = 100_000;

const encoder = new TextEncoder();

export function windowOf(range: LogRange): LogWindow {
  const { lines, isLastOpen } = linesOf(range);
  const { offset: start, nextOffset: end, bytes, isComplete } = range;
  return { start, end, bytes, isComplete, lines, isLastOpen };
}

/** What stands behind it. A range that does not begin where the window ends is another log: it is left out. */
export function withLater(log: LogWindow, range: LogRange, maxLines = MAX_LINES): LogWindow {
  const { bytes, isComplete } = range;
  if (range.offset !== log.end || range.nextOffset === range.offset) return { ...log, bytes, isComplete };
  const added = linesOf(range);
  const lines = joined(log, added.lines).slice(-maxLines);
  return {
    start: lines[0]?.offset ?? range.offset,
    end: range.nextOffset,
    bytes,
    isComplete,
    lines,
    isLastOpen: added.isLastOpen,
  };
}

/** What stands before it. */
export function withEarlier(log: LogWindow, range: LogRange, maxLines = MAX_LINES): LogWindow {
  if (range.nextOffset !== log.start || range.nextOffset === range.offset) return log;
  const before = linesOf(range);
  const all = joined(before, log.lines);
  const lines = all.slice(0, maxLines);
  const next = all[maxLines];
  return {
    ...log,
    start: range.offset,
    end: next === undefined ? log.end : next.offset,
    isLastOpen: next === undefined && (log.lines.length === 0 ? before : log).isLastOpen,
    lines,
  };
}

type Stretch = Pick<LogWindow, 'lines' | 'isLastOpen'>;

/** A line longer than what is read at once comes in parts, from either end. */
function joined(before: Stretch, after: readonly LogLine[]): readonly LogLine[] {
  const open = before.isLastOpen ? before.lines.at(-1) : undefined;
  const [first, ...rest] = after;
  if (open === undefined || first === undefined) return [...before.lines, ...after];
  return [...before.lines.slice(0, -1), { offset: open.offset, text: open.text + first.text }, ...rest];
}

/** The line that holds a byte; -1: it is not held. */
export function lineAt(log: LogWindow, offset: number): number {
  if (offset < log.start || offset >= log.end) return -1;
  let low = 0;
  let high = log.lines.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((log.lines[middle]?.offset ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

function linesOf({ offset, text }: LogRange): Stretch {
  if (text === '') return { lines: [], isLastOpen: false };
  const isLastOpen = !text.endsWith('\n');
  const parts = text.split('\n');
  if (!isLastOpen) parts.pop();
  let at = offset;
  const lines = parts.map((part): LogLine => {
    const line = { offset: at, text: part };
    at += encoder.encode(part).length + 1;
    return line;
  });
  return { lines, isLastOpen };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours of terminals begin with one
const TERMINAL_CODES = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g;

/** A line as text: what colours a terminal says nothing here, nor does what ends a line elsewhere. */
export const shownLine = (text: string): string => text.replace(TERMINAL_CODES, '').replace(/\r$/, '');
