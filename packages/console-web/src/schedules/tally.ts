/** The totals of a schedule as a table: whose times, by what became of them. Every nominal time is in one cell. Pure. */
import type { ScheduleCount, TickBucketAnswer, TickOriginAnswer } from '@headgate/sdk';

const ORIGINS: readonly TickOriginAnswer[] = ['timer', 'trigger', 'backfill'];
const BUCKETS: readonly TickBucketAnswer[] = [
  'fired',
  'buffered',
  'skipped',
  'missed',
  'excluded',
  'paused',
  'discarded',
];

export interface Tally {
  /** Only those that hold something. */
  readonly buckets: readonly TickBucketAnswer[];
  readonly rows: readonly {
    readonly origin: TickOriginAnswer;
    readonly totals: readonly number[];
    readonly sum: number;
  }[];
}

export function tallyOf(counts: readonly ScheduleCount[]): Tally {
  const total = (origin: TickOriginAnswer, bucket: TickBucketAnswer): number =>
    counts
      .filter((one) => one.origin === origin && one.bucket === bucket)
      .reduce((sum, one) => sum + one.total, 0);
  const buckets = BUCKETS.filter((bucket) => ORIGINS.some((origin) => total(origin, bucket) > 0));
  const rows = ORIGINS.map((origin) => {
    const totals = buckets.map((bucket) => total(origin, bucket));
    return { origin, totals, sum: totals.reduce((sum, one) => sum + one, 0) };
  });
  return { buckets, rows: rows.filter((row) => row.sum > 0) };
}
