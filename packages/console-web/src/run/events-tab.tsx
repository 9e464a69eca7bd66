import type { RunDetail } from '@headgate/sdk';
import { Table } from '../parts/table.js';
import { browserZone } from '../parts/wall-clock.js';

const two = (n: number): string => String(n).padStart(2, '0');

/** To the millisecond: two runs are compared side by side. */
function toTheMs(at: string): string {
  const date = new Date(at);
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

export function EventsTab({ run }: { readonly run: RunDetail }) {
  return (
    <Table
      label="Events, oldest first"
      columns={[`At, ${browserZone()}`, 'Event', 'Step', 'Reason', 'Actor', 'Attempt', 'Fencing token']}
      rows={run.events.map((event) => ({
        key: event.id,
        cells: [
          <time key="at" dateTime={event.at} className="mono">
            {toTheMs(event.at)}
          </time>,
          event.type,
          event.to === null ? '' : `${event.from === null ? '' : `${event.from} → `}${event.to}`,
          event.reasonCode ?? '',
          <span key="actor" className="mono">
            {event.actor}
          </span>,
          event.attempt ?? '',
          event.fencingToken ?? '',
        ],
      }))}
    />
  );
}
