import type { GoalDetail } from '@headgate/sdk';
import { Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import { api } from '../api/client.js';
import { useAct } from '../api/use-act.js';
import { Dialog } from '../parts/dialog.js';
import { Pause } from '../parts/pause.js';
import { Refused } from '../parts/states.js';
import { isOver } from './bounds.js';
import classes from './goal.module.css';

const MAX_REASON_CHARACTERS = 2_000;

export function GoalActions({ goal }: { readonly goal: GoalDetail }) {
  const { id } = goal;
  const answers = ['goals', id];
  const pause = useAct((note: string | null) => api.goals.pause(id, note === null ? {} : { note }), {
    answers,
  });
  const resume = useAct(() => api.goals.resume(id), { answers });
  return (
    <div className={classes['actions']}>
      {goal.state === 'active' && (
        <Pause
          what="goal"
          effect="What is under way goes on; nothing more begins, and the deadline goes on counting."
          pause={pause}
        />
      )}
      {goal.state === 'paused' && (
        <Button loading={resume.isPending} onClick={() => resume.mutate(undefined)}>
          Resume
        </Button>
      )}
      <Reset goal={goal} />
      <Refused fault={resume.error} />
    </div>
  );
}

function Reset({ goal }: { readonly goal: GoalDetail }) {
  const [reason, setReason] = useState<string | null>(null);
  const reset = useAct(
    (given: string) => api.goals.reset(goal.id, given.trim() === '' ? {} : { reason: given.trim() }),
    { answers: ['goals', goal.id], onDone: () => setReason(null) },
  );
  return (
    <>
      <Button variant={isOver(goal) ? 'filled' : 'default'} onClick={() => setReason('')}>
        Begin anew…
      </Button>
      {reason !== null && (
        <Dialog isOpen onClose={() => setReason(null)} title="Begin this goal anew?">
          <p>
            It gets all its bounds again. The next work starts at the default branch, as a new publication;
            not while one of its runs lives.
          </p>
          <TextInput
            label="Reason"
            value={reason}
            maxLength={MAX_REASON_CHARACTERS}
            onChange={(event) => setReason(event.currentTarget.value)}
            w="100%"
          />
          <Refused fault={reset.error} />
          <Button loading={reset.isPending} onClick={() => reset.mutate(reason)}>
            Begin anew
          </Button>
        </Dialog>
      )}
    </>
  );
}
