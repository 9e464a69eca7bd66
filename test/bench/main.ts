/**
 * The benchmark: `pnpm bench`, `headgate bench`.
 *
 *   --quick          fewer rounds and smaller numbers: about four minutes
 *   --only a,b       these parts
 *   --receipts N     receipts that are searched, up to 10 000 000
 *   --out FOLDER     where performance.json and performance.md go; default docs/
 *
 * Everything is measured on this machine beside what it is compared with, in interleaved rounds; what counts is the
 * ratio. It is no test: nothing fails because it is slow.
 */
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { effortOf } from './harness/effort.js';
import { machine } from './harness/machine.js';
import { installPeers } from './harness/peers.js';
import { openPlace } from './harness/place.js';
import { writeReport } from './harness/report.js';
import type { Bench, Part, Row } from './harness/row.js';
import { PARTS } from './rows/index.js';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    receipts: { type: 'string' },
    out: { type: 'string', default: 'docs' },
  },
});

const say = (text: string): void => void process.stderr.write(`${text}\n`);
const effort = effortOf({ isQuick: values.quick, receipts: values.receipts });
const parts = chosen(values.only);
const peers = await installPeers();
const place = await openPlace();
const startedMs = performance.now();
const rows: Row[] = [];
const failed: string[] = [];
try {
  const bench: Bench = { place, effort, peers, wrk: wrkPath(), say };
  for (const part of parts) {
    const partMs = performance.now();
    try {
      rows.push(...(await part.run(bench)));
    } catch (fault) {
      // The others are worth their rows; the report says what is missing, and so does the exit code.
      say(`${part.name} failed: ${fault instanceof Error ? (fault.stack ?? fault.message) : String(fault)}`);
      failed.push(part.name);
    }
    say(`${part.name}: ${Math.round((performance.now() - partMs) / 1000)} s`);
  }
  await writeReport(resolve(values.out), {
    machine: await machine(place, bench.wrk !== null, peers.node),
    isQuick: effort.isQuick,
    seconds: Math.round((performance.now() - startedMs) / 1000),
    failed,
    rows,
  });
  if (failed.length > 0) process.exitCode = 1;
} finally {
  await place.close();
}

function chosen(only: string | undefined): readonly Part[] {
  if (only === undefined) return PARTS;
  const wanted = only.split(',');
  const unknown = wanted.filter((name) => !PARTS.some((part) => part.name === name));
  if (unknown.length > 0) {
    say(
      `There is no part "${unknown.join('", "')}"; there are ${PARTS.map((part) => part.name).join(', ')}.`,
    );
    process.exit(2);
  }
  return PARTS.filter((part) => wanted.includes(part.name));
}

function wrkPath(): string | null {
  try {
    return execFileSync('which', ['wrk'], { encoding: 'utf8' }).trim();
  } catch {
    return null;
  }
}
