import type { RunDetail } from '@headgate/sdk';
import { counted, sizeWords, usd } from '../parts/amounts.js';
import { duration, Moment } from '../parts/moment.js';
import { Table } from '../parts/table.js';
import classes from './cost.module.css';

export function CostTab({ run }: { readonly run: RunDetail }) {
  const { actualUsd, estimatedUsd, maxUsd, exceededAt } = run.cost;
  return (
    <div className={classes['cost']}>
      <p className={classes['sum']}>
        {usd(actualUsd)} <span className="quiet">{maxUsd === null ? 'no limit' : `of ${usd(maxUsd)}`}</span>
      </p>
      {maxUsd !== null && (
        <meter min={0} max={maxUsd} high={maxUsd * 0.8} value={actualUsd} aria-label="Cost against the limit">
          {usd(actualUsd)}
        </meter>
      )}
      {estimatedUsd !== null && estimatedUsd > 0 && (
        <p className="quiet">{usd(estimatedUsd)} are reserved while it lives.</p>
      )}
      {exceededAt !== null && (
        <p>
          The limit was exceeded at <Moment at={exceededAt} />.
        </p>
      )}
      <ByModel run={run} />
      {run.attempts.length > 0 && (
        <Table
          label="Cost by attempt"
          columns={['Attempt', 'Status', 'Started', 'Finished', 'Cost']}
          numbers={['Cost']}
          rows={run.attempts.map((one) => ({
            key: one.id,
            cells: [
              one.number,
              one.status,
              <Moment key="from" at={one.startedAt} />,
              <Moment key="to" at={one.finishedAt} />,
              usd(one.costUsd),
            ],
          }))}
        />
      )}
    </div>
  );
}

function ByModel({ run: { usage } }: { readonly run: RunDetail }) {
  if (usage === null) return <p className="quiet">No attempt has reported what it used.</p>;
  return (
    <>
      <Table
        label="Cost by model"
        columns={['Model', 'Input tokens', 'Output tokens', 'Cost']}
        numbers={['Input tokens', 'Output tokens', 'Cost']}
        rows={usage.byModel.map((one) => ({
          key: one.model ?? 'unnamed',
          cells: [
            <span key="model" className="mono">
              {one.model ?? 'unnamed'}
            </span>,
            one.inputTokens.toLocaleString('en'),
            one.outputTokens.toLocaleString('en'),
            usd(one.costUsd),
          ],
        }))}
      />
      <p className="quiet">
        {counted(usage.providerCalls, 'provider call')}, {duration(usage.toolMs)} in tools,{' '}
        {duration(usage.cpuMs)} of processor, {sizeWords(usage.artifactBytes)} kept.
      </p>
    </>
  );
}
