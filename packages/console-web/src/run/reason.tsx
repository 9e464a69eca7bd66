/** Why a run ended as it did: in one line, and the whole of what was said below a fold. */
import type { RunDetail } from '@headgate/sdk';
import { Said } from '../parts/said.js';
import { firstLine } from './first-line.js';
import classes from './run.module.css';

export const hasReason = ({ publicStatus }: RunDetail): boolean =>
  publicStatus === 'failed' || publicStatus === 'cancelled' || publicStatus === 'skipped';

export function Reason({ run }: { readonly run: RunDetail }) {
  const message = run.reasonMessage ?? '';
  const line = firstLine(message);
  return (
    <>
      <p className={classes['reason']}>
        <b>{run.reasonCode}</b> <Said text={line} />
      </p>
      {line !== message && (
        <details className={classes['whole']}>
          <summary>all that was said</summary>
          <pre>{message}</pre>
        </details>
      )}
    </>
  );
}
