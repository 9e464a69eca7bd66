/** What, where, how it stands, and the next thing that a person can do. */
import type { RunDetail } from '@headgate/sdk';
import { useMediaQuery } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { Fact, Facts } from '../parts/facts.js';
import { Id, OutsideLink } from '../parts/id.js';
import { Lasting, Moment } from '../parts/moment.js';
import { Said } from '../parts/said.js';
import { StatusBadge, words } from '../parts/status.js';
import { Told } from '../parts/told.js';
import { shortKey } from '../parts/work-key.js';
import { ApprovalBox } from './approval.js';
import { hasReason, Reason } from './reason.js';
import classes from './run.module.css';
import { RunActions } from './run-actions.js';

export function RunHead({ run }: { readonly run: RunDetail }) {
  return (
    <header className={classes['head']}>
      <div className={classes['title']}>
        <div>
          <p className="quiet">
            <Link to="/">Runs</Link> / {run.repository ?? run.tenant}{' '}
            <span className="mono">
              {shortKey(run.workKey)} @ {run.inputVersion.slice(0, 10)}
            </span>
          </p>
          <h1>{run.route}</h1>
          <p className={classes['standing']}>
            <StatusBadge status={run.publicStatus} />
            <span>{sentenceOf(run)}</span>
          </p>
          {hasReason(run) && <Reason run={run} />}
          {run.kind === 'observation' && (
            <p className="quiet">◎ An observation for a goal: no agent, no result, no cost.</p>
          )}
        </div>
        <RunActions run={run} />
      </div>
      {run.waiting !== null && <WaitingBox waiting={run.waiting} />}
      <ApprovalBox run={run} />
      <Details run={run} />
    </header>
  );
}

/** One sentence; what waits is said in a box of its own. */
function sentenceOf(run: RunDetail): ReactNode {
  switch (run.publicStatus) {
    case 'waiting':
      return WAITS[run.status] ?? words(run.status);
    case 'running':
      return (
        <>
          {words(run.status)}, attempt {run.attempt}, for <Lasting from={run.startedAt} to={null} />
        </>
      );
    case 'succeeded':
      return (
        <>
          {run.reasonCode === 'NO_CHANGE' ? 'nothing had to be changed' : <Published run={run} />} in{' '}
          <Lasting from={run.startedAt} to={run.finishedAt} />
        </>
      );
    default:
      return run.startedAt === null ? null : (
        <>
          after <Lasting from={run.startedAt} to={run.finishedAt} />
        </>
      );
  }
}

/** "Waiting" stands before it. */
const WAITS: Readonly<Partial<Record<RunDetail['status'], string>>> = {
  QUEUED: 'in the queue',
  WAITING_APPROVAL: 'for a person',
  WAITING_CAPACITY: 'put off',
};

function Published({ run }: { readonly run: RunDetail }) {
  const linked = run.operations.findLast((one) => one.status === 'confirmed' && one.url !== null);
  if (linked !== undefined) {
    return (
      <>
        pushed{' '}
        <span className="mono">
          <OutsideLink url={linked.url} label={run.branch ?? linked.url ?? linked.key} />
        </span>
      </>
    );
  }
  if (run.branch === null) return <>done</>;
  return (
    <>
      pushed <span className="mono">{run.branch}</span>
    </>
  );
}

export function WaitingBox({ waiting }: { readonly waiting: NonNullable<RunDetail['waiting']> }) {
  const { reasonCode, message, wouldStartWhen, since, until } = waiting;
  return (
    <section aria-label="What it waits for" className={classes['waiting']}>
      <p>
        <b>{reasonCode === 'READY' ? 'Its turn' : reasonCode}</b> <Said text={message} />
      </p>
      <p>
        {/* A person may be asked about what is done already. */}
        {reasonCode === 'APPROVAL_REQUIRED' ? 'Goes on when' : 'Starts when'}: <Said text={wouldStartWhen} />
      </p>
      <p className="quiet">
        since <Moment at={since} isRelative />
        {until !== null && !wouldStartWhen.includes(until) && (
          <>
            , until <Moment at={until} />
          </>
        )}
      </p>
    </section>
  );
}

function Details({ run }: { readonly run: RunDetail }) {
  const isNarrow = useMediaQuery('(max-width: 720px)', false, { getInitialValueInEffect: false });
  return (
    <details open={!isNarrow} className={classes['details']}>
      <summary>Ids and times</summary>
      <Facts>
        <Fact name="run">
          <Id value={run.id} />
        </Fact>
        <Fact name="work">
          <Id value={run.workKey} /> <Link to={`/why?ref=${encodeURIComponent(run.workKey)}`}>why</Link>
        </Fact>
        <Fact name="version">
          <Id value={run.inputVersion} label={run.inputVersion.slice(0, 12)} /> generation {run.generation}
        </Fact>
        <Fact name="task">
          <Id value={run.taskId} />
        </Fact>
        <Fact name="receipt">
          <Id value={run.receiptId} /> <Link to={`/why?ref=${run.receiptId}`}>why</Link>
        </Fact>
        <Fact name="branch">{run.branch === null ? '–' : <Id value={run.branch} />}</Fact>
        <Fact name="agent">
          {run.agent}, mode {run.mode}, queue {run.queue}, policy v{run.policyVersion}
        </Fact>
        {run.promptDigest !== null && (
          <Fact name="prompt">
            <Id value={run.promptDigest} label={`sha256 ${run.promptDigest.slice(0, 16)}…`} />
          </Fact>
        )}
        <Fact name="chain">
          <Chain run={run} />
        </Fact>
        {run.feedback !== null && (
          <Fact name="feedback">
            <Told feedback={run.feedback} />
          </Fact>
        )}
        <Fact name="created">
          <Moment at={run.createdAt} isRelative />
        </Fact>
        <Fact name="started">
          <Moment at={run.startedAt} />
        </Fact>
        <Fact name="finished">
          <Moment at={run.finishedAt} />
        </Fact>
      </Facts>
    </details>
  );
}

/** How far its cause lies from a person: what the loop guard counts. */
function Chain({ run: { lineage, receiptId } }: { readonly run: RunDetail }) {
  const { hops, chainRuns, rootReceiptId } = lineage;
  return (
    <>
      {hops === 0 ? 'no push' : hops === 1 ? '1 push' : `${hops} pushes`} of ours before it, run {chainRuns}{' '}
      of its task
      {rootReceiptId !== receiptId && (
        <>
          , <Link to={`/why?ref=${rootReceiptId}`}>where it began</Link>
        </>
      )}
    </>
  );
}
