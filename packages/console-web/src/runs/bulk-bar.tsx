/** Cancel or retry what was chosen: asked first, then one by one, and said how each went. */
import type { Run } from '@headgate/sdk';
import { Button } from '@mantine/core';
import { useState } from 'react';
import { api } from '../api/client.js';
import { Dialog } from '../parts/dialog.js';
import { faultWords } from '../parts/states.js';
import classes from './runs.module.css';

type Action = 'cancel' | 'retry';

const APPLIES: Readonly<Record<Action, (run: Run) => boolean>> = {
  cancel: (run) => run.finishedAt === null,
  retry: (run) => run.finishedAt !== null,
};
const QUESTION: Readonly<Record<Action, string>> = {
  cancel: 'Waiting runs end at once; workers are told to stop running ones. What was pushed stays.',
  retry: 'Each runs again with the same version, as a new generation of its task.',
};
/** At a time: the API answers each on its own. */
const AT_ONCE = 4;

interface Refusal {
  readonly run: Run;
  readonly why: string;
}

export function BulkBar({
  runs,
  onDone,
  onClear,
}: {
  readonly runs: readonly Run[];
  readonly onDone: (ids: readonly string[]) => void;
  readonly onClear: () => void;
}) {
  const [action, setAction] = useState<Action | null>(null);
  return (
    <fieldset className={classes['bulk']} aria-label="What to do with the chosen runs">
      <span role="status">{runs.length} chosen</span>
      {(['cancel', 'retry'] as const).map((one) => (
        <Button
          key={one}
          size="xs"
          variant="default"
          disabled={!runs.some(APPLIES[one])}
          onClick={() => setAction(one)}
        >
          {one === 'cancel' ? 'Cancel…' : 'Retry…'}
        </Button>
      ))}
      <Button size="xs" variant="subtle" color="gray" className={classes['clear'] ?? ''} onClick={onClear}>
        Clear
      </Button>
      {action !== null && (
        <BulkDialog
          action={action}
          runs={runs.filter(APPLIES[action])}
          left={runs.filter((run) => !APPLIES[action](run)).length}
          onClose={() => setAction(null)}
          onDone={onDone}
        />
      )}
    </fieldset>
  );
}

function BulkDialog(props: {
  readonly action: Action;
  readonly runs: readonly Run[];
  readonly left: number;
  readonly onClose: () => void;
  readonly onDone: (ids: readonly string[]) => void;
}) {
  const { action, left, onClose, onDone } = props;
  // As they stood when it was asked: they change while it is done.
  const [runs] = useState(props.runs);
  const [done, setDone] = useState(0);
  const [isBusy, setBusy] = useState(false);
  const [refusals, setRefusals] = useState<readonly Refusal[] | null>(null);

  const act = async (): Promise<void> => {
    setBusy(true);
    const refused: Refusal[] = [];
    const queue = [...runs];
    const work = async (): Promise<void> => {
      for (let run = queue.shift(); run !== undefined; run = queue.shift()) {
        const answer = await (action === 'cancel' ? api.runs.cancel(run.id) : api.runs.retry(run.id)).catch(
          (fault: unknown) => fault,
        );
        if (answer instanceof Error) refused.push({ run, why: faultWords(answer).detail });
        setDone((n) => n + 1);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    if (refused.length === 0) onDone(runs.map((run) => run.id));
    else {
      setBusy(false);
      setRefusals(refused);
    }
  };
  const count = `${runs.length} ${runs.length === 1 ? 'run' : 'runs'}`;
  return (
    <Dialog
      isOpen
      onClose={isBusy ? () => {} : onClose}
      title={action === 'cancel' ? `Cancel ${count}?` : `Retry ${count}?`}
    >
      {refusals === null ? (
        <>
          <p>{QUESTION[action]}</p>
          {left > 0 && (
            <p className="quiet">
              {left} of the chosen {left === 1 ? 'is' : 'are'} left out:{' '}
              {action === 'cancel' ? 'ended already.' : 'not ended yet.'}
            </p>
          )}
          {isBusy && (
            <p role="status">
              {done} of {runs.length} …
            </p>
          )}
          <Button color={action === 'cancel' ? 'red' : 'teal'} loading={isBusy} onClick={() => void act()}>
            {action === 'cancel' ? 'Cancel' : 'Retry'} {count}
          </Button>
        </>
      ) : (
        <>
          <p role="alert">
            {runs.length - refusals.length} done, {refusals.length} refused:
          </p>
          <ul className={classes['refusals']}>
            {refusals.map(({ run, why }) => (
              <li key={run.id}>
                <span className="mono">{run.id}</span>: {why}
              </li>
            ))}
          </ul>
          <Button variant="default" onClick={() => onDone(runs.map((run) => run.id))}>
            Close
          </Button>
        </>
      )}
    </Dialog>
  );
}
