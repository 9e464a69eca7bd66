import type { Overview } from '@headgate/sdk';
import { usd } from '../parts/amounts.js';
import { Lasting } from '../parts/moment.js';
import classes from './runs.module.css';

export function Figures({ overview }: { readonly overview: Overview | undefined }) {
  if (overview === undefined) return <div className={classes['figures']} />;
  const { running, slots, liveWorkers, waiting, oldestReadyAt, spentTodayUsd, dayLimitUsd } = overview;
  return (
    <dl className={classes['figures']}>
      <Figure name="running" value={`${running} / ${slots}`} note={slots === 0 ? 'no slots' : null} />
      <Figure
        name="waiting"
        value={String(waiting.total)}
        note={
          waiting.total === 0 ? null : `${waiting.eligible} only their turn · ${waiting.notEligible} not yet`
        }
      />
      <div>
        <dt>oldest ready</dt>
        <dd>{oldestReadyAt === null ? '–' : <Lasting from={oldestReadyAt} to={null} />}</dd>
      </div>
      <Figure
        name="today"
        value={usd(spentTodayUsd)}
        note={dayLimitUsd === null ? null : `of ${usd(dayLimitUsd)}`}
      />
      <Figure name="workers" value={String(liveWorkers)} note={liveWorkers === 0 ? 'none is alive' : null} />
    </dl>
  );
}

function Figure({
  name,
  value,
  note,
}: {
  readonly name: string;
  readonly value: string;
  readonly note: string | null;
}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value}
        {note !== null && <span className={classes['note']}> {note}</span>}
      </dd>
    </div>
  );
}
