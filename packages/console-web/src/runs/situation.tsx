/** What a run does, or waits for, in one line. */
import type { Run } from '@headgate/sdk';
import { Lasting } from '../parts/moment.js';
import { words } from '../parts/status.js';

export function Situation({ run }: { readonly run: Run }) {
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
          → <span className="mono">{run.branch}</span>{' '}
        </>
      )}
      {took !== null && <span className="quiet">in {took}</span>}
    </>
  );
}
