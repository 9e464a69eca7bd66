/** Pausing asks for a note: whoever finds it paused next week wants to know why. */
import { Button, Textarea } from '@mantine/core';
import { useState } from 'react';
import { Dialog } from './dialog.js';
import { Refused } from './states.js';

const MAX_NOTE_CHARACTERS = 2_000;

export interface PauseAct {
  readonly isPending: boolean;
  readonly error: unknown;
  mutate(note: string | null, done: { readonly onSuccess: () => void }): void;
}

export function Pause(props: {
  /** `schedule`, `goal`. */
  readonly what: string;
  /** What happens then. */
  readonly effect: string;
  readonly pause: PauseAct;
}) {
  const { what, effect, pause } = props;
  const [isAsking, setAsking] = useState(false);
  const [note, setNote] = useState('');
  const act = (): void =>
    pause.mutate(note.trim() === '' ? null : note.trim(), { onSuccess: () => setAsking(false) });
  return (
    <>
      <Button variant="default" onClick={() => setAsking(true)}>
        Pause…
      </Button>
      <Dialog isOpen={isAsking} onClose={() => setAsking(false)} title={`Pause this ${what}?`}>
        <p>{effect}</p>
        <Textarea
          label="Note"
          description="Shown until it is resumed."
          value={note}
          maxLength={MAX_NOTE_CHARACTERS}
          onChange={(event) => setNote(event.currentTarget.value)}
          rows={3}
          w="100%"
          data-autofocus
        />
        <Refused fault={pause.error} />
        <Button loading={pause.isPending} onClick={act}>
          Pause {what}
        </Button>
      </Dialog>
    </>
  );
}
