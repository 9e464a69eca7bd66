/** Status by shape and word as well as colour. */
import type { Receipt, Run } from '@headgate/sdk';
import classes from './status.module.css';

/** `live` moves: something is being done. */
type Tone = 'quiet' | 'accent' | 'good' | 'bad' | 'warn' | 'live';

export interface Mark {
  /** Told apart without colour. */
  readonly shape: string;
  readonly tone: Tone;
}

export function Badge({ mark, word }: { readonly mark: Mark; readonly word: string }) {
  return (
    <span data-status={word} className={`${classes['badge']} ${classes[mark.tone] ?? ''}`}>
      <span aria-hidden="true" className={classes['mark']}>
        {mark.shape}
      </span>
      {word}
    </span>
  );
}

type PublicStatus = Run['publicStatus'];

const STATUSES: Readonly<Record<PublicStatus, Mark>> = {
  waiting: { shape: '○', tone: 'warn' },
  running: { shape: '◐', tone: 'live' },
  succeeded: { shape: '✓', tone: 'good' },
  failed: { shape: '✕', tone: 'bad' },
  cancelled: { shape: '⊘', tone: 'quiet' },
  skipped: { shape: '–', tone: 'quiet' },
};

export const StatusBadge = ({ status }: { readonly status: PublicStatus }) => (
  <Badge mark={STATUSES[status]} word={status} />
);

/** A reject is an answer, not a failure: it stays quiet. */
const OUTCOMES: Readonly<Record<Receipt['outcome'], Mark>> = {
  accept: { shape: '✓', tone: 'good' },
  defer: { shape: '◷', tone: 'warn' },
  reject: { shape: '✕', tone: 'quiet' },
  'no-work': { shape: '–', tone: 'quiet' },
};

export const OutcomeBadge = ({ outcome }: { readonly outcome: Receipt['outcome'] }) => (
  <Badge mark={OUTCOMES[outcome]} word={outcome} />
);

/** `fix-failing-check`'s stage in words: `PREPARING_SANDBOX` is "preparing sandbox". */
export const words = (code: string): string => code.toLowerCase().replaceAll('_', ' ');
