/** Status by shape and word as well as colour. */
import type { Receipt, Run } from '@headgate/sdk';
import classes from './status.module.css';

type PublicStatus = Run['publicStatus'];

const MARKS: Readonly<Record<PublicStatus, string>> = {
  waiting: '○',
  running: '◐',
  succeeded: '✓',
  failed: '✕',
  cancelled: '⊘',
  skipped: '–',
};

export function StatusBadge({ status }: { readonly status: PublicStatus }) {
  return (
    <span data-status={status} className={`${classes['badge']} ${classes[status] ?? ''}`}>
      <span aria-hidden="true" className={classes['mark']}>
        {MARKS[status]}
      </span>
      {status}
    </span>
  );
}

const OUTCOMES: Readonly<Record<Receipt['outcome'], string>> = {
  accept: '✓',
  defer: '◷',
  reject: '✕',
  'no-work': '–',
};

/** A reject is an answer, not a failure: it stays quiet. */
export function OutcomeBadge({ outcome }: { readonly outcome: Receipt['outcome'] }) {
  return (
    <span className={`${classes['badge']} ${classes[outcome] ?? ''}`}>
      <span aria-hidden="true" className={classes['mark']}>
        {OUTCOMES[outcome]}
      </span>
      {outcome}
    </span>
  );
}

/** `fix-failing-check`'s stage in words: `PREPARING_SANDBOX` is "preparing sandbox". */
export const words = (code: string): string => code.toLowerCase().replaceAll('_', ' ');
