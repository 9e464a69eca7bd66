/** Every goal: whether it holds, what is under way, and how much of its bounds is left. */
import type { Goal } from '@headgate/sdk';
import { Link } from 'react-router';
import { api } from '../api/client.js';
import { usePages } from '../api/use-pages.js';
import { useChanges } from '../live/live.js';
import { usd } from '../parts/amounts.js';
import { Coming, Moment } from '../parts/moment.js';
import { Older } from '../parts/older.js';
import { Broken, Empty, Loading } from '../parts/states.js';
import { useRowFocus } from '../shell/row-focus.js';
import { GoalBadge } from './goal-badge.js';
import classes from './goals.module.css';

const LOOK_AGAIN_MS = 5_000;

export function GoalsPage() {
  const list = usePages(['goals'], (query) => api.goals.page(query), LOOK_AGAIN_MS);
  useChanges((changes) => {
    if (changes.some(({ type }) => type.startsWith('goal.'))) void list.refetch();
  });
  useRowFocus();
  return (
    <>
      <title>Goals · Headgate</title>
      <h1 className={classes['h1']}>Goals</h1>
      {list.isPending ? (
        <Loading what="goals" />
      ) : list.isError && list.items.length === 0 ? (
        <Broken fault={list.error} onRetry={() => void list.refetch()} />
      ) : list.items.length === 0 ? (
        <Empty title="No goal.">
          <p>
            A route makes one for each repository with <code>{'{ goal: { observe, until, stop } }'}</code>{' '}
            under <code>on</code>: looked at without a model until the condition holds, with the agent at work
            in between.
          </p>
        </Empty>
      ) : (
        <ol className={classes['list']} aria-label="Goals">
          {list.items.map((goal) => (
            <GoalRow key={goal.id} goal={goal} />
          ))}
        </ol>
      )}
      <Older list={list} what="goals" />
    </>
  );
}

function GoalRow({ goal }: { readonly goal: Goal }) {
  const { stop, runs, noProgress, costUsd } = goal;
  return (
    <li className={classes['row']} data-goal={goal.id}>
      <GoalBadge state={goal.state} />
      <span className={classes['what']}>
        <Link to={`/goals/${goal.id}`} data-row-link="">
          {goal.route}
        </Link>{' '}
        {goal.repository} <span className="quiet mono">{goal.until}</span>
      </span>
      <span className={classes['used']}>
        {runs} of {stop.maxRuns} runs
        <span className="quiet">
          {noProgress > 0 && ` · ${noProgress} of ${stop.noProgress} without progress`} · {usd(costUsd)}
          {stop.maxCostUsd !== null && ` of ${usd(stop.maxCostUsd)}`}
        </span>
      </span>
      <span className={classes['now']}>
        <Now goal={goal} />
      </span>
    </li>
  );
}

function Now({ goal: { state, phase, note, reasonCode, stateAt, nextAt } }: { readonly goal: Goal }) {
  if (phase !== 'idle') return <>{phase} now</>;
  if (state === 'active') {
    return nextAt === null ? (
      <span className="quiet">looks when its run has ended</span>
    ) : (
      <>
        <span className="quiet">next look</span> <Moment at={nextAt} /> <Coming at={nextAt} />
      </>
    );
  }
  return (
    <>
      <span className="quiet">{note ?? reasonCode} since</span> <Moment at={stateAt} />
    </>
  );
}
