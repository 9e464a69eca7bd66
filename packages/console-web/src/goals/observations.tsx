/** What was seen each time, with the evidence: a run without a model each. */
import type { GoalDetail, Observation } from '@headgate/sdk';
import { Link } from 'react-router';
import { Id } from '../parts/id.js';
import { Moment } from '../parts/moment.js';
import { Empty } from '../parts/states.js';
import classes from './goal.module.css';
import { ObservationBadge } from './goal-badge.js';
import { seenOf } from './seen.js';

export function Observations({ goal }: { readonly goal: GoalDetail }) {
  return (
    <section aria-label="Observations" className={classes['part']}>
      <h2>Observations</h2>
      {goal.recent.length === 0 ? (
        <Empty title="Nothing has been seen yet.">
          <p>The first look is made as soon as a worker is free.</p>
        </Empty>
      ) : (
        <ol className={classes['observations']}>
          {goal.recent.map((one) => (
            <ObservationRow key={one.id} seen={one} epoch={goal.epoch} />
          ))}
        </ol>
      )}
    </section>
  );
}

function ObservationRow({ seen: one, epoch }: { readonly seen: Observation; readonly epoch: number }) {
  const { verdict, evidence } = seenOf(one.result);
  return (
    <li className={classes['observation']}>
      <span className={classes['number']}>
        {one.epoch === epoch ? one.number : `${one.epoch}.${one.number}`}
      </span>
      <ObservationBadge outcome={one.outcome} />
      <span className={classes['seen']}>
        {verdict} {one.detail}
        {one.version !== null && (
          <>
            {' '}
            <span className="quiet">at {one.ref}</span>{' '}
            <Id value={one.version} label={one.version.slice(0, 12)} />
          </>
        )}
        {evidence !== null && (
          <details>
            <summary>what it said</summary>
            <pre>{evidence}</pre>
          </details>
        )}
      </span>
      <span className={classes['links']}>
        <Link to={`/runs/${one.runId}`}>look</Link>
        {one.receiptId !== null && <Link to={`/why?ref=${one.receiptId}`}>what followed</Link>}
      </span>
      <Moment at={one.observedAt} />
    </li>
  );
}
