/** A run's state by shape, word and colour: each of the three alone would do. */
import type { PublicStatus } from '@headgate/domain';
import type { Run } from '@headgate/sdk';
import type { Colors } from './terminal.js';
import { timeOfDay } from './words.js';

const SHAPES: Readonly<Record<PublicStatus, string>> = {
  waiting: '○',
  running: '◐',
  succeeded: '✓',
  failed: '✕',
  cancelled: '⊘',
  skipped: '–',
};

export const PUBLIC_STATUSES = Object.keys(SHAPES) as readonly PublicStatus[];

export function statusWord(status: PublicStatus, colors: Colors): string {
  const text = `${SHAPES[status]} ${status}`;
  switch (status) {
    case 'succeeded':
      return colors.green(text);
    case 'failed':
      return colors.red(text);
    case 'running':
      return colors.cyan(text);
    case 'waiting':
      return colors.yellow(text);
    default:
      return colors.dim(text);
  }
}

/** What there is to say about a run beside its status: why it waits, why it ended so, or what it pushed. */
export function runRemark(run: Run): string {
  if (run.waiting !== null) return `${run.waiting.reasonCode}: ${run.waiting.message}`;
  if (run.publicStatus === 'succeeded') return run.branch === null ? '' : `pushed ${run.branch}`;
  return run.reasonCode ?? '';
}

/** One line of progress: `14:03:11  running  VERIFYING, attempt 1`. */
export function progressLine(run: Run, now: Date, colors: Colors): string {
  const remark = run.waiting === null ? '' : `  ${run.waiting.reasonCode}: ${run.waiting.message}`;
  const attempt = run.attempt > 0 ? `, attempt ${run.attempt}` : '';
  const state = run.status.toLowerCase().replaceAll('_', ' ');
  const shown = state === run.publicStatus ? '' : `  ${state}`;
  return `${colors.dim(timeOfDay(now))}  ${statusWord(run.publicStatus, colors)}${shown}${attempt}${remark}`;
}
