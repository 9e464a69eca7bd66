import { useLiveState } from '../live/live.js';
import { exact } from '../parts/moment.js';
import classes from './shell.module.css';

export function LiveMark() {
  const state = useLiveState();
  const word = state.kind === 'connecting' ? 'connecting' : state.kind;
  return (
    <span role="status" className={`${classes['liveMark']} ${classes[state.kind] ?? ''}`}>
      <span aria-hidden="true">●</span> {word}
    </span>
  );
}

/** A page that is not live says since when it is old. */
export function StaleNotice() {
  const state = useLiveState();
  if (state.kind !== 'lost' && state.kind !== 'stale') return null;
  const since = state.since === null ? 'it was opened' : exact(state.since, new Date());
  return (
    <p role="status" className={classes['notice']}>
      {state.kind === 'lost'
        ? `The connection is lost. This page shows what was known at ${since}; it connects again by itself.`
        : `The console cannot read the database. This page shows what was known at ${since}.`}
    </p>
  );
}
