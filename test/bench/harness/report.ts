/**
 * Writes the result: JSON for programs, a table for people. What people wrote below the table, from "What limits what"
 * on, stays as it is.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Machine } from './machine.js';
import { median, ratio } from './rounds.js';
import type { Row, Target } from './row.js';

export interface Report {
  readonly machine: Machine;
  readonly isQuick: boolean;
  readonly seconds: number;
  /** Parts that gave no rows. */
  readonly failed: readonly string[];
  readonly rows: readonly Row[];
}

/** What a row comes to: the ratio where it is measured against something, else its own median. */
export const resultOf = (row: Row): number =>
  row.against === null ? median(row.ours) : ratio(row.ours, row.against.values);

export function isMet({ kind, value }: Target, result: number): boolean {
  return kind === 'at-least' ? result >= value : result <= value;
}

export async function writeReport(folder: string, report: Report): Promise<void> {
  await mkdir(folder, { recursive: true });
  const rows = report.rows.map((row) => ({ ...row, result: resultOf(row) }));
  await writeFile(join(folder, 'performance.json'), `${JSON.stringify({ ...report, rows }, null, 2)}\n`);
  const page = join(folder, 'performance.md');
  await writeFile(page, markdown(report) + (await writtenBelow(page)));
}

const WRITTEN_BY_HAND = '## What limits what';

async function writtenBelow(page: string): Promise<string> {
  const before = await readFile(page, 'utf8').catch(() => '');
  const at = before.indexOf(WRITTEN_BY_HAND);
  return at < 0 ? '' : before.slice(at);
}

export function markdown(report: Report): string {
  const head = ['measured', 'here', 'against', 'there', 'ratio', 'target', ''];
  const lines = report.rows.map((row) => cells(row));
  const widths = head.map((title, at) =>
    Math.max(3, title.length, ...lines.map((line) => line[at]?.length ?? 0)),
  );
  const line = (texts: readonly string[]) =>
    `| ${texts.map((text, at) => text.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  const table = [line(head), line(widths.map((width) => '-'.repeat(width))), ...lines.map(line)];
  const facts = Object.entries(report.machine).map(([name, value]) => `- ${name}: ${value}`);
  const missing =
    report.failed.length === 0 ? [] : ['', `Not measured, because it failed: ${report.failed.join(', ')}.`];
  const effort = `- effort: ${report.isQuick ? 'quick' : 'whole'}, ${report.seconds} s`;
  return [...INTRODUCTION, ...facts, effort, '', ...table, ...missing, '', ''].join('\n');
}

function cells(row: Row): readonly string[] {
  const result = resultOf(row);
  const { target, against } = row;
  return [
    row.name,
    `${figure(median(row.ours))} ${row.unit}${spread(row.ours)}`,
    against?.name ?? '',
    against === null ? '' : `${figure(median(against.values))}${spread(against.values)}`,
    against === null ? '' : figure(result),
    target === null
      ? ''
      : `${target.kind === 'at-least' ? '>=' : '<='} ${figure(target.value)}${row.note === undefined ? '' : ` (${row.note})`}`,
    target === null ? '' : isMet(target, result) ? 'met' : 'missed',
  ];
}

/** The span of the rounds. */
const spread = (values: readonly number[]): string =>
  values.length < 2 ? '' : ` (${figure(Math.min(...values))} to ${figure(Math.max(...values))})`;

function figure(value: number): string {
  if (!Number.isFinite(value)) return '?';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits).replace(/\B(?=(\d{3})+(?!\d))/g, ' ');
}

const INTRODUCTION = [
  '# Performance',
  '',
  'Made by `pnpm bench` (`headgate bench` in a clone); `--quick` takes about four minutes. The database is durable, and',
  'the load generator, Postgres, Redis and the services share the machine. Its figures are for orientation: what carries',
  'over is the ratio of two things measured in interleaved rounds of one run. Medians; in brackets the span of the rounds.',
  '',
];
