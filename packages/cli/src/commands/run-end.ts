import type { RunDetail } from '@headgate/sdk';
import { runRemark, statusWord } from '../terminal/status.js';
import type { Terminal } from '../terminal/terminal.js';
import { duration } from '../terminal/words.js';

/** The last lines of a command that waited for a run. */
export function endOfRun(run: RunDetail, { colors }: Terminal): string {
  const tookMs = run.finishedAt === null ? null : Date.parse(run.finishedAt) - Date.parse(run.createdAt);
  const took = tookMs === null ? '' : ` after ${duration(tookMs)}`;
  const tries = run.attempt > 1 ? `, ${run.attempt} attempts` : '';
  const remark = runRemark(run);
  return [
    `${statusWord(run.publicStatus, colors)}${took}${tries}${remark === '' ? '' : `: ${remark}`}`,
    colors.dim(`headgate why ${run.id}`),
  ].join('\n');
}
