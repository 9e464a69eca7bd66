/** How much of everything. */
import type { Effort } from './row.js';

const WHOLE: Omit<Effort, 'receipts'> = {
  isQuick: false,
  rounds: 3,
  loadSeconds: 5,
  runs: 6_000,
  warmUpRuns: 10_000,
  backlog: 1_000_000,
  tenants: 10_000,
  latencySamples: 40,
};

const QUICK: Omit<Effort, 'receipts'> = {
  isQuick: true,
  rounds: 3,
  loadSeconds: 2,
  runs: 4_000,
  warmUpRuns: 8_000,
  backlog: 100_000,
  tenants: 1_000,
  latencySamples: 20,
};

const RECEIPTS = { quick: 50_000, whole: 300_000, most: 10_000_000 };

export function effortOf(asked: {
  readonly isQuick: boolean;
  readonly receipts: string | undefined;
}): Effort {
  const written = asked.receipts;
  const receipts =
    written === undefined ? (asked.isQuick ? RECEIPTS.quick : RECEIPTS.whole) : Number(written);
  if (!Number.isInteger(receipts) || receipts < 1 || receipts > RECEIPTS.most) {
    throw new RangeError(`--receipts "${written}": write a number from 1 to ${RECEIPTS.most}`);
  }
  return { ...(asked.isQuick ? QUICK : WHOLE), receipts };
}
