/** What whoever looks may do with the run as it stands, the next thing first: the API says which. */
import type { RunActionName, RunDetail } from '@headgate/sdk';
import { Button } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { api } from '../api/client.js';
import { useAct } from '../api/use-act.js';
import { Dialog } from '../parts/dialog.js';
import { Refused } from '../parts/states.js';
import classes from './run.module.css';
import { SayWord } from './say-word.js';

export function RunActions({ run }: { readonly run: RunDetail }) {
  const allowed = run.actions.filter((one) => one.allowed);
  if (allowed.length === 0) return null;
  return (
    <div className={classes['actions']}>
      {allowed.map(({ name }) => (
        <Act key={name} name={name} run={run} />
      ))}
    </div>
  );
}

function Act({ name, run }: { readonly name: RunActionName; readonly run: RunDetail }) {
  switch (name) {
    case 'cancel':
      return <Cancel run={run} />;
    case 'retry':
      return <Retry run={run} />;
    default:
      return <SayWord word={name} run={run} />;
  }
}

function Cancel({ run }: { readonly run: RunDetail }) {
  const [isAsking, setAsking] = useState(false);
  const cancel = useAct(() => api.runs.cancel(run.id), {
    answers: ['run', run.id],
    onDone: () => setAsking(false),
  });
  const isRunning = run.publicStatus === 'running';
  return (
    <>
      <Button variant="default" onClick={() => setAsking(true)}>
        Cancel run
      </Button>
      <Dialog isOpen={isAsking} onClose={() => setAsking(false)} title="Cancel this run?">
        <p>
          {isRunning
            ? 'Its worker is told to stop; the slot is free once the agent has ended. What was pushed stays.'
            : 'It waits, so it ends at once. A newer version may still start.'}
        </p>
        <Refused fault={cancel.error} />
        <Button color="red" loading={cancel.isPending} onClick={() => cancel.mutate(undefined)}>
          Cancel run
        </Button>
      </Dialog>
    </>
  );
}

function Retry({ run }: { readonly run: RunDetail }) {
  const navigate = useNavigate();
  const retry = useAct(() => api.runs.retry(run.id), {
    onDone: ({ runId }) => runId !== null && void navigate(`/runs/${runId}`),
  });
  return (
    <div className={classes['again']}>
      <Button
        variant={run.publicStatus === 'failed' ? 'filled' : 'default'}
        loading={retry.isPending}
        onClick={() => retry.mutate(undefined)}
      >
        Run again
      </Button>
      <Refused fault={retry.error} />
    </div>
  );
}
