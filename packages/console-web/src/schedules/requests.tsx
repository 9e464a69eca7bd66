import type { ScheduleRequest } from '@headgate/sdk';
import { Moment } from '../parts/moment.js';
import { Badge, type Mark } from '../parts/status.js';
import { Table } from '../parts/table.js';
import { ORIGINS } from './contract.js';
import classes from './schedule.module.css';

const STATES: Readonly<Record<ScheduleRequest['state'], Mark>> = {
  pending: { shape: '◐', tone: 'live' },
  done: { shape: '✓', tone: 'good' },
  refused: { shape: '✕', tone: 'bad' },
};

/** "Run now" and back-fills, and how far a ticker is with each. */
export function Requests({ requests }: { readonly requests: readonly ScheduleRequest[] }) {
  if (requests.length === 0) return null;
  return (
    <section aria-label="Asked by people" className={classes['part']}>
      <h2>Asked by people</h2>
      <Table
        label="What people asked for, newest first"
        columns={['Asked', 'What', 'State', 'Ticks', 'Span', 'Overlap', 'By', 'Reason']}
        rows={requests.map((one) => ({
          key: one.id,
          cells: [
            <Moment key="at" at={one.requestedAt} />,
            ORIGINS[one.kind],
            <span key="state">
              <Badge mark={STATES[one.state]} word={one.state} /> {one.detail}
            </span>,
            one.ticks,
            one.kind === 'trigger' ? (
              ''
            ) : (
              <span key="span">
                <Moment at={one.fromAt} /> to <Moment at={one.untilAt} />
              </span>
            ),
            one.overlap ?? 'its own',
            <span key="by" className="mono">
              {one.requestedBy}
            </span>,
            one.reason ?? '',
          ],
        }))}
      />
    </section>
  );
}
