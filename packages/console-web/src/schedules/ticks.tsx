/** The last times with what became of them, beside the next ones. */
import type { ScheduleDetail, ScheduleTick } from '@headgate/sdk';
import { Link } from 'react-router';
import { Coming, Moment } from '../parts/moment.js';
import { browserZone, differs, wallClock } from '../parts/wall-clock.js';
import { BucketBadge } from './bucket-badge.js';
import { ORIGINS } from './contract.js';
import classes from './schedule.module.css';

export function Ticks({
  schedule: { recent, next, timezone, state },
}: {
  readonly schedule: ScheduleDetail;
}) {
  const shown = [...recent.map((tick) => tick.nominalAt), ...next];
  const zone = differs(shown, timezone, browserZone()) ? timezone : null;
  return (
    <div className={classes['times']}>
      <section aria-label="Last times">
        <Heading title="Last times" zone={zone} />
        {recent.length === 0 ? (
          <p className="quiet">None has come yet.</p>
        ) : (
          <ol className={classes['ticks']}>
            {recent.map((tick) => (
              <TickRow key={`${tick.origin}-${tick.nominalAt}-${tick.target}`} tick={tick} zone={zone} />
            ))}
          </ol>
        )}
      </section>
      <section aria-label="Next times">
        <Heading title="Next times" zone={zone} />
        {state === 'paused' && next.length > 0 && (
          <p className="quiet">They pass without a run while it is paused.</p>
        )}
        {next.length === 0 ? (
          <p className="quiet">There is none.</p>
        ) : (
          <ol className={classes['ticks']}>
            {next.map((at) => (
              <li key={at} className={classes['next']}>
                <Moment at={at} /> <Coming at={at} />
                <Zoned at={at} zone={zone} />
              </li>
            ))}
          </ol>
        )}
      </section>
    </div>
  );
}

function Heading({ title, zone }: { readonly title: string; readonly zone: string | null }) {
  return (
    <h2>
      {title}
      {zone !== null && <span className={classes['zone']}> below: {zone}</span>}
    </h2>
  );
}

/** What the schedule's own clocks show, where the reader's show something else. */
function Zoned({ at, zone }: { readonly at: string; readonly zone: string | null }) {
  if (zone === null) return null;
  return <span className={classes['zoned']}>{wallClock(at, zone)}</span>;
}

function TickRow({ tick, zone }: { readonly tick: ScheduleTick; readonly zone: string | null }) {
  const { nominalAt, untilAt, count, bucket, reasonCode, origin, target, receiptId, runId } = tick;
  return (
    <li className={classes['tick']}>
      <BucketBadge bucket={bucket} />
      <span>
        <Moment at={nominalAt} />
        {count > 1 && (
          <>
            {' '}
            to <Moment at={untilAt} />, <b>{count} times</b>
          </>
        )}
        <Zoned at={nominalAt} zone={zone} />
      </span>
      <span>
        {receiptId === null ? reasonCode : <Link to={`/why?ref=${receiptId}`}>{reasonCode}</Link>}
        {origin !== 'timer' && <span className="quiet"> {ORIGINS[origin]}</span>}
        {target !== '' && <span className="quiet"> {target}</span>}
      </span>
      <span>
        {runId !== null && (
          <Link to={`/runs/${runId}`} className="mono" title={runId}>
            {runId.slice(0, 14)}…
          </Link>
        )}
      </span>
    </li>
  );
}
