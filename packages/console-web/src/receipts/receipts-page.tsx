/** What was decided about every signal, newest first. */
import type { Receipt, ReceiptQuery } from '@headgate/sdk';
import { Button, Select } from '@mantine/core';
import { useMemo } from 'react';
import { Link, useSearchParams } from 'react-router';
import { api } from '../api/client.js';
import { usePages } from '../api/use-pages.js';
import { Moment } from '../parts/moment.js';
import { Older } from '../parts/older.js';
import { Said } from '../parts/said.js';
import { Broken, Empty, Loading } from '../parts/states.js';
import { OutcomeBadge } from '../parts/status.js';
import { Told } from '../parts/told.js';
import { useRowFocus } from '../shell/row-focus.js';
import classes from './receipts.module.css';

const OUTCOMES = ['accept', 'defer', 'reject', 'no-work'] as const;
/** A signal that led to no run has no event: the newest are asked for again. */
const LOOK_AGAIN_MS = 3_000;

export function ReceiptsPage() {
  const [params, setParams] = useSearchParams();
  const outcome = OUTCOMES.find((one) => one === params.get('outcome'));
  const source = params.get('source') ?? undefined;
  const query = useMemo<ReceiptQuery>(
    () => ({ ...(outcome === undefined ? {} : { outcome }), ...(source === undefined ? {} : { source }) }),
    [outcome, source],
  );
  const list = usePages(
    ['receipts', query],
    (page) => api.receipts.page({ ...query, ...page }),
    LOOK_AGAIN_MS,
  );
  const { items: receipts } = list;
  const set = (name: string, value: string | null): void =>
    setParams((now) => {
      const next = new URLSearchParams(now);
      if (value === null) next.delete(name);
      else next.set(name, value);
      return next;
    });
  useRowFocus();
  return (
    <>
      <title>Receipts · Headgate</title>
      <div className={classes['bar']}>
        <h1>Receipts</h1>
        <fieldset className={classes['filters']} aria-label="Filters">
          <Select
            size="xs"
            aria-label="outcome"
            placeholder="any outcome"
            data={[...OUTCOMES]}
            value={outcome ?? null}
            onChange={(value) => set('outcome', value)}
            clearable
            clearButtonProps={{ 'aria-label': 'Any outcome' }}
            comboboxProps={{ withinPortal: false, transitionProps: { duration: 0 } }}
          />
          {source !== undefined && (
            <Button size="xs" variant="default" onClick={() => set('source', null)}>
              <span className={classes['chosen']} title={source}>
                source {source}
              </span>
              <span aria-hidden="true">✕</span>
              <span className="hidden">, take away</span>
            </Button>
          )}
        </fieldset>
      </div>
      {list.isPending ? (
        <Loading what="receipts" />
      ) : list.isError && receipts.length === 0 ? (
        <Broken fault={list.error} onRetry={() => void list.refetch()} />
      ) : receipts.length === 0 && !list.hasNextPage ? (
        <NoReceipt isFiltered={outcome !== undefined || source !== undefined} />
      ) : (
        <ol className={classes['list']}>
          {receipts.map((receipt) => (
            <ReceiptRow key={receipt.id} receipt={receipt} onSource={(value) => set('source', value)} />
          ))}
        </ol>
      )}
      <Older list={list} what="receipts" />
    </>
  );
}

function NoReceipt({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty title="No receipt is like that.">
        <p>Take a filter away: every signal that arrived has a receipt.</p>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing has arrived.">
      <p>
        A webhook goes to <code>/webhooks/{'{source}'}</code>; a schedule ticks by itself. Try:{' '}
        <code>npx headgate send check_run.completed</code>
      </p>
    </Empty>
  );
}

function ReceiptRow({
  receipt,
  onSource,
}: {
  readonly receipt: Receipt;
  readonly onSource: (source: string) => void;
}) {
  const { delivery, execution } = receipt;
  return (
    <li className={classes['row']}>
      <OutcomeBadge outcome={receipt.outcome} />
      <span className={classes['signal']}>
        <Link to={`/why?ref=${receipt.id}`} data-row-link="">
          {delivery.type}
        </Link>{' '}
        <button type="button" className={classes['source']} onClick={() => onSource(delivery.source)}>
          {delivery.source}
        </button>
        <About receipt={receipt} />
      </span>
      <span className={classes['reason']}>
        <b>{receipt.reasonCode}</b> <Said text={receipt.message} />{' '}
        <span className="quiet nowrap">rule {receipt.rule}</span>
        {receipt.feedback !== null && (
          <span className={classes['told']}>
            <Told feedback={receipt.feedback} />
          </span>
        )}
      </span>
      <span className={classes['run']}>
        {execution.runId !== null && (
          <Link to={`/runs/${execution.runId}`} className="mono" title={execution.runId}>
            {execution.runId.slice(0, 14)}…
          </Link>
        )}
      </span>
      <span className={classes['time']}>
        <Moment at={receipt.createdAt} />
      </span>
    </li>
  );
}

/** Which work it is about; what led to none is known by its delivery. */
function About({ receipt: { domain, delivery } }: { readonly receipt: Receipt }) {
  const about = domain.workKey ?? delivery.eventId;
  return (
    <span className={`mono ${classes['about']}`} title={about}>
      {about}
    </span>
  );
}
