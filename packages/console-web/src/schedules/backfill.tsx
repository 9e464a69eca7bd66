/** A back-fill is counted before it runs: what is counted is what is run, or it is counted again. */
import type { Backfill as Plan, ScheduleDetail } from '@headgate/sdk';
import { Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import { api } from '../api/client.js';
import { useAct } from '../api/use-act.js';
import { Dialog } from '../parts/dialog.js';
import { Moment } from '../parts/moment.js';
import { Refused } from '../parts/states.js';
import { browserZone } from '../parts/wall-clock.js';
import { type Asked, AskedFields, NOTHING_ASKED, requestOf } from './asked.js';
import classes from './schedule.module.css';
import { instantOfField, lastDay, type SpanFields } from './span.js';

export function Backfill({ schedule }: { readonly schedule: ScheduleDetail }) {
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <Button variant="default" onClick={() => setAsking(true)}>
        Back-fill…
      </Button>
      {isAsking && <BackfillDialog schedule={schedule} onClose={() => setAsking(false)} />}
    </>
  );
}

function BackfillDialog(props: { readonly schedule: ScheduleDetail; readonly onClose: () => void }) {
  const { onClose } = props;
  const { id, overlap } = props.schedule;
  const [span, setSpan] = useState<SpanFields>(() => lastDay(new Date()));
  const [asked, setAsked] = useState<Asked>(NOTHING_ASKED);
  const from = instantOfField(span.from);
  const until = instantOfField(span.until);
  const isWhole = from !== null && until !== null;

  const ask = (dryRun: boolean): Promise<Plan> =>
    api.schedules.backfill(id, { from: from ?? '', until: until ?? '', ...requestOf(asked), dryRun });
  const count = useAct(() => ask(true), {});
  const run = useAct(() => ask(false), { changes: ['schedules', id], onDone: onClose });
  const change = (next: Partial<SpanFields>): void => {
    setSpan({ ...span, ...next });
    count.reset();
    run.reset();
  };
  const plan = count.data;
  const left = plan === undefined ? 0 : plan.times - plan.alreadyFired;
  return (
    <Dialog isOpen onClose={onClose} title="Run times that have passed">
      <div className={classes['span']}>
        <Instant label="From" value={span.from} onChange={(value) => change({ from: value })} />
        <Instant label="Until" value={span.until} onChange={(value) => change({ until: value })} />
      </div>
      <p className="quiet">Both ends included, by the clocks of {browserZone()}.</p>
      <AskedFields own={overlap} asked={asked} onChange={setAsked} />
      {plan !== undefined && <Counted plan={plan} />}
      <Refused fault={count.error ?? run.error} />
      {plan === undefined ? (
        <Button
          variant="default"
          disabled={!isWhole}
          loading={count.isPending}
          onClick={() => count.mutate(undefined)}
        >
          Count them
        </Button>
      ) : (
        <Button disabled={left === 0} loading={run.isPending} onClick={() => run.mutate(undefined)}>
          Run {left} {left === 1 ? 'time' : 'times'}
        </Button>
      )}
    </Dialog>
  );
}

function Instant(props: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  return (
    <TextInput
      type="datetime-local"
      step={1}
      label={props.label}
      value={props.value}
      onChange={(event) => props.onChange(event.currentTarget.value)}
    />
  );
}

function Counted({ plan: { times, alreadyFired, first } }: { readonly plan: Plan }) {
  const left = times - alreadyFired;
  return (
    <div role="status" className={classes['counted']}>
      <p>
        <b>{left}</b> of {times} nominal times would run; {alreadyFired} were fired before and are left alone.
      </p>
      <ol>
        {first.map((at) => (
          <li key={at}>
            <Moment at={at} />
          </li>
        ))}
      </ol>
      {left > first.length && <p className="quiet">and {left - first.length} more</p>}
    </div>
  );
}
