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
