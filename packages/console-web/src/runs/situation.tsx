/** What a run does, or waits for, in one line. */
import type { Run } from '@headgate/sdk';
import { Lasting } from '../parts/moment.js';
import { words } from '../parts/status.js';
import classes from './runs.module.css';

export function Situation({ run }: { readonly run: Run }) {
  return (
    <>
      {run.kind === 'observation' && <span className={classes['look']}>◎ observation</span>}
      <Now run={run} />
    </>
  );
}

function Now({ run }: { readonly run: Run }) {
  if (run.waiting !== null) {
    const { reasonCode, message } = run.waiting;
    return (
      <>
        <b>{reasonCode === 'READY' ? 'its turn' : reasonCode}</b> {message}
      </>
    );
  }
  if (run.publicStatus === 'running') {
    return (
      <>
        {words(run.status)} · attempt {run.attempt} · <Lasting from={run.startedAt} to={null} />
      </>
    );
  }
  const took = run.startedAt === null ? null : <Lasting from={run.startedAt} to={run.finishedAt} />;
  const isPlain = run.reasonCode === null || run.reasonCode === 'SUCCEEDED';
  return (
    <>
      {!isPlain && <b>{run.reasonCode} </b>}
      {run.branch !== null && (
        <>
          → <span title={run.branch}>{isOurs(run.branch) ? 'branch pushed' : run.branch}</span>{' '}
        </>
      )}
      {took !== null && <span className="quiet">in {took}</span>}
    </>
  );
}

/** A name that says no more than the run's id. */
const isOurs = (branch: string): boolean => /^agent\/task_\w+\/run_\w+$/.test(branch);
