/** Writes the result: JSON for programs, a table for people. */
import { mkdir, writeFile } from 'node:fs/promises';
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
  await writeFile(join(folder, 'performance.md'), markdown(report));
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
  return [...INTRODUCTION, ...facts, effort, '', ...table, ...missing, '', ...LIMITS].join('\n');
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
  'Made by `pnpm bench` (`headgate bench` in a clone); `--quick` takes under three minutes. The database is durable, and',
  'the load generator, Postgres, Redis and the services share the machine. Its figures are for orientation: what carries',
  'over is the ratio of two things measured in interleaved rounds of one run. Medians; in brackets the span of the rounds.',
  '',
];

const LIMITS = [
  '## What limits what',
  '',
  '- **A signal** costs its intake process more than the database, and one process uses one core. Where that core’s time goes',
  '  under webhooks of 10 KB (profile by function): HTTP and Express a quarter, garbage collection 9 %, writing answers and',
  '  statements to sockets 8 %, reading and checking the JSON 7 %, compressing the payload 7 %, encoding rows 7 %, routing and',
  '  identity 6 %, the signature 4 %, ids 2 %. In the database the run’s row with its specification takes a fifth, its two',
  '  events and the receipt a tenth each; each statement costs as much planning and start-up for a batch of one as of 200, so',
  '  batches that grow under load are what makes it cheap.',
  '- **Heartbeats stay HOT** as long as a page has room for the next version of its rows. A lease page is filled to half, so',
  '  each row has room for one version; the next beat first removes the one before it, which it may do when no snapshot',
  '  is older. While a long transaction pins the past, versions are kept: a page fills up, further versions go to new pages',
  '  with an index entry each (about 450 bytes of log instead of 150), and the table grows by one version for each lease and',
  '  beat. It recovers when the transaction ends. Vacuum is not needed for it; ending long transactions is.',
  '- **A run’s row** holds its specification. Pages are half empty for the same reason: claim, start and end then stay HOT.',
  '- **Dispatch** reads at most 800 heads a turn whatever waits, and nothing where no slot is free. The dispatcher’s full scan',
  '  costs one index descent for each queue and tenant with something ready, every five seconds while something is ready.',
  '- **The page of queues** counts every waiting item: it grows with the backlog, unlike all other pages.',
  '',
];
