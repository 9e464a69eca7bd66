import type { RunDetail } from '@headgate/sdk';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { api } from '../api/client.js';
import { Id } from '../parts/id.js';
import { Moment } from '../parts/moment.js';
import { Broken, Loading } from '../parts/states.js';
import { OutcomeBadge, StatusBadge } from '../parts/status.js';
import { Table } from '../parts/table.js';
import classes from './task.module.css';

/** All triggers that attached, and the versions and runs before. */
export function TaskTab({ run }: { readonly run: RunDetail }) {
  const { data: task, ...query } = useQuery({
    queryKey: ['run', run.id, 'task', run.taskId],
    queryFn: () => api.tasks.get(run.taskId),
  });
  if (task === undefined) {
    return query.isError ? <Broken fault={query.error} /> : <Loading what="the task" />;
  }
  return (
    <div className={classes['task']}>
      <p>
        <Id value={task.id} /> generation {task.generation}, publication {task.publication}
        {task.nextVersion !== null && <>, next version {task.nextVersion}</>}
        {task.cancelledAt !== null && (
          <>
            , <b>cancelled</b> at <Moment at={task.cancelledAt} /> by {task.cancelledBy}
          </>
        )}
      </p>
      <h2>Signals</h2>
      <Table
        label="Signals of the task, newest first"
        columns={['At', 'Outcome', 'Signal', 'Reason', 'Receipt']}
        rows={task.signals.map((one) => ({
          key: one.receiptId,
          cells: [
            <Moment key="at" at={one.at} />,
            <OutcomeBadge key="outcome" outcome={one.outcome} />,
            `${one.type} from ${one.source}`,
            one.reasonCode,
            <Link key="receipt" className="mono" to={`/why?ref=${one.receiptId}`}>
              {one.receiptId}
            </Link>,
          ],
        }))}
      />
      <h2>Runs</h2>
      <Table
        label="Runs of the task, newest first"
        columns={['Created', 'Status', 'Version', 'Generation', 'Run']}
        rows={task.runs.map((one) => ({
          key: one.id,
          cells: [
            <Moment key="at" at={one.createdAt} />,
            <StatusBadge key="status" status={one.publicStatus} />,
            <span key="version" className="mono">
              {one.inputVersion.slice(0, 12)}
            </span>,
            one.generation,
            one.id === run.id ? (
              'this one'
            ) : (
              <Link key="run" className="mono" to={`/runs/${one.id}`}>
                {one.id}
              </Link>
            ),
          ],
        }))}
      />
    </div>
  );
}
