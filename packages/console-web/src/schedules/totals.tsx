import type { ScheduleCount } from '@headgate/sdk';
import { Table } from '../parts/table.js';
import { ORIGINS } from './contract.js';
import classes from './schedule.module.css';
import { tallyOf } from './tally.js';

/** What is decided per repository counts once for each. */
export function Totals({ counts }: { readonly counts: readonly ScheduleCount[] }) {
  const { buckets, rows } = tallyOf(counts);
  if (rows.length === 0) return null;
  return (
    <section aria-label="Totals" className={classes['part']}>
      <h2>Totals</h2>
      <Table
        label="Nominal times by what became of them"
        columns={['Whose', ...buckets, 'in all']}
        numbers={[...buckets, 'in all']}
        rows={rows.map(({ origin, totals, sum }) => ({
          key: origin,
          cells: [
            ORIGINS[origin],
            ...totals.map((n) => n.toLocaleString('en')),
            <b key="sum">{sum.toLocaleString('en')}</b>,
          ],
        }))}
      />
    </section>
  );
}
