/** `headgate demo break`, as it happens: what arrived, the one run, its attempts, the one branch. Everything is counted here. */
import type { Receipt, RunDetail } from '@headgate/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { api } from '../api/client.js';
import { Id } from '../parts/id.js';
import { Moment } from '../parts/moment.js';
import { Broken, Empty, Loading } from '../parts/states.js';
import { StatusBadge, words } from '../parts/status.js';
import { Table } from '../parts/table.js';
import { Timeline } from '../run/timeline.js';
import classes from './demo.module.css';

const LOOK_AGAIN_MS = 1_000;
const ROUTE = 'demo-break';
const MAX_RECEIPTS = 200;

export function DemoPage() {
  const { delivery } = useParams();
  return delivery === undefined ? <NewestDemo /> : <Demo delivery={delivery} />;
}

/** Without a delivery: the newest demo there was, and how to begin one. */
function NewestDemo() {
  const { data, ...query } = useQuery({
    queryKey: ['demo', 'newest'],
    queryFn: () => api.receipts.page({ limit: MAX_RECEIPTS }),
    refetchInterval: LOOK_AGAIN_MS,
  });
  const newest = data?.items.find((receipt) => receipt.route === ROUTE);
  return (
    <>
      <title>Demo · Headgate</title>
      <h1>Break everything</h1>
      {query.isError ? (
        <Broken fault={query.error} />
      ) : newest !== undefined ? (
        <p className={classes['newest']}>
          <Link to={`/demo/${encodeURIComponent(newest.delivery.eventId)}`}>
            The newest demo, of <Moment at={newest.createdAt} />
          </Link>
        </p>
      ) : (
        <Empty title="No demo has run.">
          <p>
            Start one in another terminal: <code>npx headgate demo break</code>
          </p>
          <p>
            The same event twenty times at once, a worker killed at its work, Redis emptied. This page follows
            it live; it ends with 1 run, 1 branch, 20 receipts.
          </p>
        </Empty>
      )}
    </>
  );
}

function Demo({ delivery }: { readonly delivery: string }) {
  const receipts = useQuery({
    queryKey: ['demo', delivery, 'receipts'],
    queryFn: () => api.receipts.page({ eventId: delivery, limit: MAX_RECEIPTS }),
    refetchInterval: LOOK_AGAIN_MS,
  });
  const items = receipts.data?.items ?? [];
  const runId = items.find((receipt) => receipt.reasonCode === 'ADMITTED')?.execution.runId ?? null;
  const run = useQuery({
    queryKey: ['run', runId],
    queryFn: () => api.runs.get(runId ?? ''),
    enabled: runId !== null,
    refetchInterval: ({ state }) => (state.data?.finishedAt == null ? LOOK_AGAIN_MS : false),
  });
  const runs = new Set(items.flatMap((receipt) => receipt.execution.runId ?? []));
  const branches = run.data === undefined ? 0 : branchesOf(run.data);
  const hasEnded = run.data?.finishedAt != null;
  return (
    <>
      <title>Demo · Headgate</title>
      <p className="quiet">
        delivery <Id value={delivery} />
      </p>
      <h1 className={classes['promise']}>
        <span role="status">
          <Count n={runs.size} one="run" many="runs" />, <Count n={branches} one="branch" many="branches" />,{' '}
          <Count n={items.length} one="receipt" many="receipts" />
        </span>
      </h1>
      {receipts.isError && <Broken fault={receipts.error} />}
      {receipts.isPending && <Loading what="the receipts" />}
      {receipts.data !== undefined && items.length === 0 && (
        <Empty title="Waiting for the deliveries.">
          <p>The demo commits a defect and starts a worker of its own first.</p>
        </Empty>
      )}
      {items.length > 0 && <Arrived receipts={items} />}
      {run.data !== undefined && <TheRun run={run.data} />}
      {hasEnded && run.data !== undefined && (
        <p className={classes['verdict']}>
          <StatusBadge status={run.data.publicStatus} /> {run.data.attempts.length} attempts, and{' '}
          {run.data.operations.filter((one) => one.status === 'confirmed').length} confirmed side effect.{' '}
          <Link to={`/why?ref=${encodeURIComponent(delivery)}`}>Why</Link>
        </p>
      )}
    </>
  );
}

/** Pushed, and known to be. */
const branchesOf = (run: RunDetail): number =>
  run.operations.filter((one) => one.kind === 'push' && one.status === 'confirmed').length;

function Count({ n, one, many }: { readonly n: number; readonly one: string; readonly many: string }) {
  return (
    <>
      <b>{n}</b> {n === 1 ? one : many}
    </>
  );
}

function Arrived({ receipts }: { readonly receipts: readonly Receipt[] }) {
  const oldestFirst = [...receipts].reverse();
  return (
    <section aria-label="Receipts" className={classes['part']}>
      <h2>What arrived</h2>
      <ol className={classes['receipts']}>
        {oldestFirst.map((receipt) => (
          <li
            key={receipt.id}
            className={receipt.reasonCode === 'ADMITTED' ? classes['admitted'] : undefined}
          >
            <Link to={`/why?ref=${receipt.id}`} title={receipt.id}>
              {receipt.reasonCode}
            </Link>
          </li>
        ))}
      </ol>
    </section>
  );
}

function TheRun({ run }: { readonly run: RunDetail }) {
  return (
    <section aria-label="The run" className={classes['part']}>
      <h2>
        <StatusBadge status={run.publicStatus} /> <Link to={`/runs/${run.id}`}>{run.route}</Link>{' '}
        <span className="quiet">{words(run.status)}</span>
      </h2>
      <Timeline run={run} />
      {run.attempts.length > 0 && (
        <Table
          label="Attempts"
          columns={['Attempt', 'Status', 'Reason', 'Worker', 'Fencing token', 'From', 'To']}
          rows={run.attempts.map((one) => ({
            key: one.id,
            cells: [
              one.number,
              <b key="status">{one.status}</b>,
              one.reasonCode ?? '',
              <span key="worker" className="mono">
                {one.workerId}
              </span>,
              one.fencingToken,
              <Moment key="from" at={one.startedAt} />,
              <Moment key="to" at={one.finishedAt} />,
            ],
          }))}
        />
      )}
      <p>branch {run.branch === null ? <span className="quiet">not yet</span> : <Id value={run.branch} />}</p>
    </section>
  );
}
