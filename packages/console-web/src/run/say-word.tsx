/** A word is said of the request that was read, never of one that came meanwhile. */
import type { Approval, RunDetail } from '@headgate/sdk';
import { Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import { api } from '../api/client.js';
import { useAct } from '../api/use-act.js';
import { Dialog } from '../parts/dialog.js';
import { Refused } from '../parts/states.js';
import { Binding } from './approval.js';
import { WORDS, type Word } from './words.js';

const MAX_REASON_CHARACTERS = 1_000;

export function SayWord({ word, run }: { readonly word: Word; readonly run: RunDetail }) {
  // The request as it stands when it is asked: it stays what is shown, and what is sent.
  const [asked, setAsked] = useState<Approval | null>(null);
  const { button, isConsent } = WORDS[word];
  return (
    <>
      <Button variant={isConsent ? 'filled' : 'default'} onClick={() => setAsked(run.approval)}>
        {button}…
      </Button>
      {asked !== null && (
        <WordDialog word={word} runId={run.id} approval={asked} onClose={() => setAsked(null)} />
      )}
    </>
  );
}

function WordDialog(props: {
  readonly word: Word;
  readonly runId: string;
  readonly approval: Approval;
  readonly onClose: () => void;
}) {
  const { word, runId, approval, onClose } = props;
  const { button, question, effect, isConsent } = WORDS[word];
  const [reason, setReason] = useState('');
  const say = useAct(
    () =>
      api.runs[word](runId, {
        approvalId: approval.id,
        ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
      }),
    { answers: ['run', runId], onDone: onClose },
  );
  return (
    <Dialog isOpen onClose={onClose} title={question}>
      <p>{effect}</p>
      {isConsent && <Binding approval={approval} />}
      <TextInput
        label="Reason"
        description="Kept in the run’s record."
        value={reason}
        maxLength={MAX_REASON_CHARACTERS}
        onChange={(event) => setReason(event.currentTarget.value)}
        w="100%"
        data-autofocus
      />
      <Refused fault={say.error} />
      <Button
        color={isConsent ? 'teal' : 'red'}
        loading={say.isPending}
        onClick={() => say.mutate(undefined)}
      >
        {button}
      </Button>
    </Dialog>
  );
}
