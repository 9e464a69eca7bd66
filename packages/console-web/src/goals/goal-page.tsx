/** One goal: the condition, how much of its bounds is used, and what it saw each time. */
import type { GoalDetail } from '@headgate/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { api } from '../api/client.js';
import { useChanges } from '../live/live.js';
import { Fact, Facts } from '../parts/facts.js';
import { Id } from '../parts/id.js';
import { Coming, Moment, useNowMs } from '../parts/moment.js';
import { Broken, Loading } from '../parts/states.js';
import { useMayAct } from '../session/signed-in.js';
import { boundsOf } from './bounds.js';
import classes from './goal.module.css';
import { GoalActions } from './goal-actions.js';
import { GoalBadge } from './goal-badge.js';
import { Observations } from './observations.js';

const LOOK_AGAIN_MS = 3_000;

export function GoalPage() {
  const { id = '' } = useParams();
  const { data: goal, ...query } = useQuery({
    queryKey: ['goals', id],
    queryFn: () => api.goals.get(id),
    refetchInterval: LOOK_AGAIN_MS,
  });
  useChanges((changes) => {
    if (changes.some(({ type }) => type.startsWith('goal.'))) void query.refetch();
  });
  if (goal === undefined) {
    return query.isError ? (
      <Broken isPage fault={query.error} onRetry={() => void query.refetch()} />
    ) : (
      <Loading what={`goal ${id}`} />
    );
  }
  return (
    <div className={classes['page']}>
      <title>{`${goal.route} ${goal.state} · Headgate`}</title>
      <Head goal={goal} />
      <Bounds goal={goal} />
      <Observations goal={goal} />
    </div>
  );
}

function Head({ goal }: { readonly goal: GoalDetail }) {
  const mayAct = useMayAct();
  return (
    <header className={classes['head']}>
      <div className={classes['title']}>
        <div>
          <p className="quiet">
            <Link to="/goals">Goals</Link> / {goal.repository}
          </p>
          <h1>{goal.route}</h1>
          <p className={classes['standing']}>
            <GoalBadge state={goal.state} />
            <span>
              until <code>{goal.until}</code>
            </span>
            <UnderWay goal={goal} />
          </p>
        </div>
        {mayAct && <GoalActions goal={goal} />}
      </div>
      <HowItEnded goal={goal} />
      <Facts>
        <Fact name="goal">
          <Id value={goal.id} />
        </Fact>
        <Fact name="looks">
          by {goal.observe === 'http' ? 'request' : 'command'}, {goal.cadence} {goal.timezone}
        </Fact>
        <Fact name="looked">
          {goal.observations} times{goal.unknowns > 0 && `, ${goal.unknowns} in a row could not tell`}
        </Fact>
        <Fact name="began">
          <Moment at={goal.startedAt} isRelative />
          {goal.epoch > 1 && <span className="quiet"> anew, time {goal.epoch}</span>}
        </Fact>
        <Fact name="deadline">
          <Moment at={goal.deadlineAt} />
        </Fact>
      </Facts>
    </header>
  );
}

function UnderWay({ goal: { phase, runId, nextAt } }: { readonly goal: GoalDetail }) {
  if (runId !== null && phase !== 'idle') {
    return (
      <span>
        {phase} in <Link to={`/runs/${runId}`}>its run</Link>
      </span>
    );
  }
  if (nextAt === null) return null;
  return (
    <span>
      next look <Moment at={nextAt} /> <Coming at={nextAt} />
    </span>
  );
}

const WITHOUT_NOTE: Readonly<Record<Exclude<GoalDetail['state'], 'active'>, string>> = {
  paused: 'Paused without a note.',
  done: 'The condition holds.',
  'given-up': 'A bound was reached.',
};

/** Paused, done or given up: by whom, why, and the receipt that holds the evidence. */
function HowItEnded({ goal }: { readonly goal: GoalDetail }) {
  const { state, note, reasonCode, stateAt, stateBy, receiptId } = goal;
  if (state === 'active') return null;
  return (
    <section aria-label="Why it does not go on" className={classes[state]}>
      <p>
        {reasonCode !== null && <b>{reasonCode} </b>}
        {note ?? WITHOUT_NOTE[state]}
      </p>
      <p>
        {state} at <Moment at={stateAt} isRelative />
        {stateBy !== null && (
          <>
            {' '}
            by <span className="mono">{stateBy}</span>
          </>
        )}
        {receiptId !== null && (
          <>
            , <Link to={`/why?ref=${receiptId}`}>why</Link>
          </>
        )}
      </p>
    </section>
  );
}

/** A bound that is reached ends the goal. */
function Bounds({ goal }: { readonly goal: GoalDetail }) {
  const nowMs = useNowMs();
  return (
    <section aria-label="Bounds" className={classes['part']}>
      <h2>Given up after</h2>
      <dl className={classes['bounds']}>
        {boundsOf(goal, nowMs).map(({ name, used, words }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {words}
              <meter min={0} max={1} high={0.79} value={used} aria-label={`${name}: ${words}`} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
