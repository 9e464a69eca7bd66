import { stripVTControlCharacters } from 'node:util';
import Table from 'cli-table3';
import type { Terminal } from './terminal.js';

const NO_LINES = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
} as const;

/** Rows under quiet headings, without lines: reads well, and pastes well. */
export function table(
  terminal: Pick<Terminal, 'colors'>,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const made = new Table({
    head: head.map((title) => terminal.colors.dim(title)),
    chars: NO_LINES,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  made.push(...rows.map((row) => [...row]));
  return trimLines(made.toString());
}

/** Fewer characters than these tell nothing. */
const WORTH_SHOWING = 12;

/**
 * A table whose last column is a plain remark: on a terminal that is too narrow for it, the remark is cut, so that a
 * row stays a line. What is piped is whole, and what comes before the remark is never cut: ids are there to be copied.
 */
export function remarkTable(
  terminal: Pick<Terminal, 'colors' | 'isLive' | 'columns'>,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const text = table(terminal, head, rows);
  if (!terminal.isLive) return text;
  const cut = (line: string, remark: string): string => {
    const excess = stripVTControlCharacters(line).length - terminal.columns;
    return excess <= 0 || remark.length - excess < WORTH_SHOWING ? line : `${line.slice(0, -excess - 1)}…`;
  };
  const [heading = '', ...lines] = text.split('\n');
  return [heading, ...lines.map((line, at) => cut(line, rows[at]?.at(-1) ?? ''))].join('\n');
}

/** `name  value` pairs, one a line. */
export function pairs(
  terminal: Pick<Terminal, 'colors'>,
  lines: readonly (readonly [string, string])[],
): string {
  const width = Math.max(0, ...lines.map(([name]) => name.length));
  return lines
    .map(([name, value]) => `  ${terminal.colors.dim(name.padEnd(width))}  ${value}`.trimEnd())
    .join('\n');
}

const trimLines = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
