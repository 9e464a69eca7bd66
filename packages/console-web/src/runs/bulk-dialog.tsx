/** Counted first, done with the token of that count, and said how each went: nothing is done that was not shown. */
import type { BulkAnswer, BulkFilter } from '@headgate/sdk';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api } from '../api/client.js';
import { useAct } from '../api/use-act.js';
import { Dialog } from '../parts/dialog.js';
import { Broken, Loading, Refused } from '../parts/states.js';
import { cameOf } from './bulk.js';
import classes from './runs.module.css';

type Action = BulkAnswer['action'];

export interface Bulk {
  readonly action: Action;
  readonly filter: BulkFilter;
  /** Rows; null: all that match. */
  readonly chosen: number | null;
}

interface ActWords {
  readonly verb: string;
  readonly effect: string;
  /** Why a chosen one is not among them. */
  readonly leftOut: string;
}

const WORDS: Readonly<Record<Action, ActWords>> = {
  cancel: {
    verb: 'Cancel',
    effect: 'Waiting runs end at once; workers are told to stop running ones. What was pushed stays.',
    leftOut: 'ended already.',
  },
  replay: {
    verb: 'Retry',
    effect: 'Each runs again with the same version, as a new generation of its task.',
    leftOut: 'not ended yet.',
  },
};

const runsWords = (n: number): string => `${n} ${n === 1 ? 'run' : 'runs'}`;

export function BulkDialog(props: {
  readonly bulk: Bulk;
  /** With the runs that something became of. */
  readonly onClose: (ids: readonly string[]) => void;
}) {
  const { bulk, onClose } = props;
  const { action, filter } = bulk;
  const { verb } = WORDS[action];
  const { data: plan, ...dry } = useQuery({
    queryKey: ['bulk', action, filter],
    queryFn: () => api.runs.bulk({ action, filter, dryRun: true }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const act = useAct((token: string) => api.runs.bulk({ action, filter, dryRun: false, token }), {
    changes: ['overview'],
    onDone: (answer) => cameOf(answer.runs).leftOut.length === 0 && onClose(idsOf(answer)),
  });
  const close = (): void => {
    if (!act.isPending) onClose(act.data === undefined ? [] : idsOf(act.data));
  };
  return (
    <Dialog
      isOpen
      onClose={close}
      title={plan === undefined ? `${verb} many runs` : `${verb} ${runsWords(plan.count)}?`}
    >
      {act.data !== undefined ? (
        <Came answer={act.data} onClose={close} />
      ) : plan === undefined ? (
        dry.isError ? (
          <Broken fault={dry.error} onRetry={() => void dry.refetch()} />
        ) : (
          <Loading what="which runs they are" />
        )
      ) : (
        <>
          <Plan bulk={bulk} plan={plan} />
          <Refused fault={act.error} />
          <Button
            color={action === 'cancel' ? 'red' : 'teal'}
            disabled={plan.count === 0 || plan.token === null}
            loading={act.isPending}
            onClick={() => plan.token !== null && act.mutate(plan.token)}
          >
            {verb} {runsWords(plan.count)}
          </Button>
        </>
      )}
    </Dialog>
  );
}

const idsOf = ({ runs }: BulkAnswer): readonly string[] => runs.map((run) => run.runId);

function Plan({ bulk: { action, chosen }, plan }: { readonly bulk: Bulk; readonly plan: BulkAnswer }) {
  const { effect, leftOut } = WORDS[action];
  const left = chosen === null ? 0 : chosen - plan.count;
  return (
    <>
      <p>{effect}</p>
      {left > 0 && (
        <p className="quiet">
          {left} of the chosen {left === 1 ? 'is' : 'are'} left out: {leftOut}
        </p>
      )}
      {plan.more && <p>These are the newest that match; there are more. Ask again for the others.</p>}
      {chosen === null && <Statuses plan={plan} />}
    </>
  );
}

/** What the filter caught, before anything is done to it. */
function Statuses({ plan }: { readonly plan: BulkAnswer }) {
  const statuses = [...new Set(plan.runs.flatMap((run) => run.status ?? []))].sort();
  return (
    <ul className={classes['refusals']} aria-label="By status">
      {statuses.map((status) => (
        <li key={status}>
          {plan.runs.filter((run) => run.status === status).length} {status}
        </li>
      ))}
    </ul>
  );
}

function Came({ answer, onClose }: { readonly answer: BulkAnswer; readonly onClose: () => void }) {
  const { done, requested, leftOut } = cameOf(answer.runs);
  return (
    <>
      <p role="alert">
        {done} done{requested > 0 && `, ${requested} told to stop`}; left alone:
      </p>
      <ul className={classes['refusals']}>
        {leftOut.map(({ code, detail, runIds }) => (
          <li key={`${code} ${detail}`}>
            {runsWords(runIds.length)}: <b>{code}</b> {detail}
          </li>
        ))}
      </ul>
      <Button variant="default" onClick={onClose}>
        Close
      </Button>
    </>
  );
}
