import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atEnd } from '@headgate/testkit';
import { expect, test } from 'vitest';
import { effortOf } from './harness/effort.js';
import { machine } from './harness/machine.js';
import { openPlace } from './harness/place.js';
import { isMet, resultOf, writeReport } from './harness/report.js';
import { interleaved, median, ratio } from './harness/rounds.js';
import type { Bench } from './harness/row.js';
import { backlog } from './rows/backlog.js';
import { counts } from './rows/counts.js';
import { receipts } from './rows/receipts.js';

test('the benchmark runs with tiny numbers: a durable database, rows with their peers, a report of them', async () => {
  const place = await openPlace();
  atEnd(() => place.close());
  const bench: Bench = {
    place,
    effort: {
      ...effortOf({ isQuick: true, receipts: '200' }),
      rounds: 1,
      backlog: 2_000,
      tenants: 300,
    },
    // None of these parts needs a peer: they would have to be fetched.
    peers: { node: process.execPath, folder: '/nowhere' },
    wrk: null,
    say: () => {},
  };
  const rows = [];
  for (const part of [counts, backlog, receipts]) rows.push(...(await part.run(bench)));
  expect(rows.length).toBeGreaterThanOrEqual(9);
  for (const row of rows) expect(resultOf(row), row.name).toBeGreaterThan(0);

  const out = mkdtempSync(join(tmpdir(), 'headgate-bench-report-'));
  atEnd(() => rmSync(out, { recursive: true, force: true }));
  await writeReport(out, {
    machine: await machine(place, false, process.execPath),
    isQuick: true,
    seconds: 1,
    failed: ['others'],
    rows,
  });
  const report = readFileSync(join(out, 'performance.md'), 'utf8');
  for (const { name } of rows) expect(report).toContain(name);
  expect(report).toContain('failed: others');
  expect(report).toContain('fsync on, synchronous_commit on');
  const { rows: kept } = JSON.parse(readFileSync(join(out, 'performance.json'), 'utf8')) as {
    rows: readonly { readonly name: string; readonly result: number }[];
  };
  expect(kept.map(({ name }) => name)).toEqual(rows.map(({ name }) => name));
}, 120_000);

test('rounds are interleaved, and a ratio is that of two things of one round', async () => {
  const order: string[] = [];
  const take = (name: string, values: readonly number[]) => async (round: number) => {
    order.push(name);
    return values[round] ?? 0;
  };
  const measured = await interleaved(3, { a: take('a', [10, 200, 30]), b: take('b', [5, 100, 10]) });
  expect(order).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
  expect(median(measured.a)).toBe(30);
  expect(ratio(measured.a, measured.b)).toBe(2);
  expect(isMet({ kind: 'at-least', value: 2 }, 2)).toBe(true);
  expect(isMet({ kind: 'at-most', value: 1.5 }, 2)).toBe(false);
});

test('a number of receipts that cannot be is refused in words', () => {
  expect(() => effortOf({ isQuick: false, receipts: 'many' })).toThrow('write a number from 1 to 10000000');
});
