/** Every schedule: whether it ticks, what its last time became, and when the next is due. */
import type { Schedule } from '@headgate/sdk';
import { Link } from 'react-router';
import { api } from '../api/client.js';
import { usePages } from '../api/use-pages.js';
import { useChanges } from '../live/live.js';
import { Coming, Moment } from '../parts/moment.js';
import { Older } from '../parts/older.js';
import { Broken, Empty, Loading } from '../parts/states.js';
import { useRowFocus } from '../shell/row-focus.js';
import { BucketBadge, ScheduleBadge } from './bucket-badge.js';
import classes from './schedules.module.css';

/** A tick that led to no run has no event. */
const LOOK_AGAIN_MS = 5_000;

export function SchedulesPage() {
  const list = usePages(['schedules'], (query) => api.schedules.page(query), LOOK_AGAIN_MS);
  useChanges((changes) => {
    if (changes.some(({ type }) => type.startsWith('schedule.'))) void list.refetch();
  });
  useRowFocus();
  return (
    <>
      <title>Schedules · Headgate</title>
      <h1 className={classes['h1']}>Schedules</h1>
      {list.isPending ? (
        <Loading what="schedules" />
      ) : list.isError && list.items.length === 0 ? (
        <Broken fault={list.error} onRetry={() => void list.refetch()} />
      ) : list.items.length === 0 ? (
        <Empty title="No schedule.">
          <p>
            A route makes one with <code>{'{ cron: "0 3 * * 1" }'}</code> under <code>on</code>; every nominal
            time is accounted for here, also those that did not run.
          </p>
        </Empty>
      ) : (
        <ol className={classes['list']} aria-label="Schedules">
          {list.items.map((schedule) => (
            <ScheduleRow key={schedule.id} schedule={schedule} />
          ))}
        </ol>
      )}
      <Older list={list} what="schedules" />
    </>
  );
}

function ScheduleRow({ schedule }: { readonly schedule: Schedule }) {
  const { id, route, cron, timezone, state, note, nextAt } = schedule;
  const [last] = schedule.recent;
  return (
    <li className={classes['row']} data-schedule={id}>
      <ScheduleBadge state={state} />
      <span className={classes['what']}>
        <Link to={`/schedules/${id}`} data-row-link="">
          {route}
        </Link>{' '}
        <span className="mono">{cron}</span> <span className="quiet">{timezone}</span>
      </span>
      <span className={classes['last']}>
        {last === undefined ? (
          <span className="quiet">no time has come yet</span>
        ) : (
          <>
            <BucketBadge bucket={last.bucket} /> <span className="quiet">{last.reasonCode}</span>{' '}
            <Moment at={last.untilAt} />
          </>
        )}
      </span>
      <span className={classes['next']}>
        {state === 'paused' ? (
          <span className="quiet">{note ?? 'no note'}</span>
        ) : nextAt === null ? (
          <span className="quiet">no further time</span>
        ) : (
          <>
            <span className="quiet">next</span> <Moment at={nextAt} /> <Coming at={nextAt} />
          </>
        )}
      </span>
    </li>
  );
}
