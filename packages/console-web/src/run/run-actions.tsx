import type { RunDetail } from '@headgate/sdk';
import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { api } from '../api/client.js';
import { Dialog } from '../parts/dialog.js';
import { Refused } from '../parts/states.js';
import classes from './run.module.css';

export function RunActions({ run }: { readonly run: RunDetail }) {
  const hasEnded = run.finishedAt !== null;
  const isCancelling = run.status === 'CANCEL_REQUESTED' || run.status === 'CANCELLING';
  if (hasEnded) return <Retry run={run} />;
  return isCancelling ? null : <Cancel run={run} />;
}

function Cancel({ run }: { readonly run: RunDetail }) {
  const [isAsking, setAsking] = useState(false);
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => api.runs.cancel(run.id),
    onSuccess: (answer) => {
      client.setQueryData(['run', run.id], answer);
      setAsking(false);
    },
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
        <Button color="red" loading={cancel.isPending} onClick={() => cancel.mutate()}>
          Cancel run
        </Button>
      </Dialog>
    </>
  );
}

function Retry({ run }: { readonly run: RunDetail }) {
  const navigate = useNavigate();
  const retry = useMutation({
    mutationFn: () => api.runs.retry(run.id),
    onSuccess: (answer) => answer.runId !== null && void navigate(`/runs/${answer.runId}`),
  });
  return (
    <div className={classes['again']}>
      <Button
        variant={run.publicStatus === 'failed' ? 'filled' : 'default'}
        loading={retry.isPending}
        onClick={() => retry.mutate()}
      >
        Run again
      </Button>
      <Refused fault={retry.error} />
    </div>
  );
}
