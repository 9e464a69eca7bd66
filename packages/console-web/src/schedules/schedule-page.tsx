/** One schedule: what it promises, what became of its last ten times, and when the next ten are. */
import type { ScheduleDetail } from '@headgate/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { api } from '../api/client.js';
import { useChanges } from '../live/live.js';
import { Fact, Facts } from '../parts/facts.js';
import { Id } from '../parts/id.js';
import { Coming, Moment, term } from '../parts/moment.js';
import { Broken, Loading } from '../parts/states.js';
import { useMayAct } from '../session/signed-in.js';
import { ScheduleBadge } from './bucket-badge.js';
import { catchUpWords, OVERLAPS } from './contract.js';
import { Requests } from './requests.js';
import classes from './schedule.module.css';
import { ScheduleActions } from './schedule-actions.js';
import { Ticks } from './ticks.js';
import { Totals } from './totals.js';

const LOOK_AGAIN_MS = 3_000;

export function SchedulePage() {
  const { id = '' } = useParams();
  const { data: schedule, ...query } = useQuery({
    queryKey: ['schedules', id],
    queryFn: () => api.schedules.get(id),
    refetchInterval: LOOK_AGAIN_MS,
  });
  useChanges((changes) => {
    if (changes.some(({ type }) => type.startsWith('schedule.'))) void query.refetch();
  });
  if (schedule === undefined) {
    return query.isError ? (
      <Broken isPage fault={query.error} onRetry={() => void query.refetch()} />
    ) : (
      <Loading what={`schedule ${id}`} />
    );
  }
  return (
    <div className={classes['page']}>
      <title>{`${schedule.route} ${schedule.cron} · Headgate`}</title>
      <Head schedule={schedule} />
      <Ticks schedule={schedule} />
      <Totals counts={schedule.counts} />
      <Requests requests={schedule.requests} />
    </div>
  );
}

function Head({ schedule }: { readonly schedule: ScheduleDetail }) {
  const mayAct = useMayAct();
  const { route, cron, timezone, state, nextAt } = schedule;
  return (
    <header className={classes['head']}>
      <div className={classes['title']}>
        <div>
          <p className="quiet">
            <Link to="/schedules">Schedules</Link> / {schedule.tenant}
          </p>
          <h1>{route}</h1>
          <p className={classes['standing']}>
            <ScheduleBadge state={state} />
            <span>
              <span className="mono">{cron}</span> {timezone}
            </span>
            <span>
              {nextAt !== null ? (
                <>
                  next <Moment at={nextAt} /> <Coming at={nextAt} />
                </>
              ) : (
                state === 'active' && 'no further time'
              )}
            </span>
          </p>
        </div>
        {mayAct && <ScheduleActions schedule={schedule} />}
      </div>
      {state === 'paused' && <Paused schedule={schedule} />}
      <Contract schedule={schedule} />
    </header>
  );
}

function Paused({ schedule: { note, pausedAt, pausedBy } }: { readonly schedule: ScheduleDetail }) {
  return (
    <section aria-label="Why it is paused" className={classes['paused']}>
      <p>{note ?? 'Paused without a note.'}</p>
      <p>
        Its times pass without a run until it is resumed. Paused by <span className="mono">{pausedBy}</span>{' '}
        at <Moment at={pausedAt} isRelative />
      </p>
    </section>
  );
}

function Contract({ schedule: it }: { readonly schedule: ScheduleDetail }) {
  return (
    <Facts>
      <Fact name="schedule">
        <Id value={it.id} />
      </Fact>
      <Fact name="overlap">
        <b>{it.overlap}</b>: {OVERLAPS[it.overlap]}
      </Fact>
      <Fact name="catch-up">
        <b>{it.catchUp.mode}</b>: {catchUpWords(it.catchUp)}
      </Fact>
      <Fact name="jitter">{it.jitterMs === 0 ? 'none' : `up to ${term(it.jitterMs)}`}</Fact>
      <Fact name="between">
        {it.startAt === null && it.endAt === null ? (
          'always'
        ) : (
          <>
            <Moment at={it.startAt} /> and <Moment at={it.endAt} />
          </>
        )}
      </Fact>
      <Fact name="leaves out">{it.exclude.length === 0 ? 'no day' : it.exclude.join(', ')}</Fact>
      <Fact name="on failure">{it.pauseOnFailure ? 'it pauses itself' : 'it goes on'}</Fact>
      <Fact name="under way">
        {it.running.length === 0
          ? 'no run'
          : it.running.map((runId) => (
              <Link key={runId} to={`/runs/${runId}`} className={`mono ${classes['run']}`}>
                {runId}
              </Link>
            ))}
      </Fact>
    </Facts>
  );
}
