/** Why a receipt cannot be replayed, and what to do instead. */
import { formatId } from '@headgate/domain';
import { HttpProblem } from '@headgate/service';
import { wrongState } from '../http/problems.js';
import type { ReplayedReceipt } from './message.js';

/** Its payload was kept for as long as the configuration says. */
export const payloadGone = ({ id, source }: ReplayedReceipt, keptDays: number): HttpProblem =>
  new HttpProblem({
    status: 410,
    code: 'PAYLOAD_GONE',
    title: 'What the signal carried is no longer kept.',
    detail: `Payloads are kept for ${keptDays} days (retention.payloads); that of ${formatId('rcpt', id)} is gone. Have ${source} send it again, ask for the work itself (POST /v1/work), or retry its run.`,
  });

export const sourceGone = ({ source }: ReplayedReceipt): HttpProblem =>
  wrongState(`Source ${source} is no longer in the configuration, so its messages cannot be read.`);

export const unreadable = ({ id }: ReplayedReceipt): HttpProblem =>
  wrongState(`What is kept of ${formatId('rcpt', id)} cannot be read as a message of its source.`);

/** Only what a source sent or showed is a message. */
export function notAMessage({ id, kind, trigger, parentReceiptId }: ReplayedReceipt): HttpProblem {
  const shown = formatId('rcpt', id);
  if (kind === 'closing') {
    const decided =
      parentReceiptId === null ? 'the receipt that made the run' : formatId('rcpt', parentReceiptId);
    return wrongState(`${shown} closes a run. Replay ${decided}, or retry the run.`);
  }
  switch (trigger) {
    case 'schedule':
      return wrongState(
        `${shown} is a tick. Run its schedule now (headgate schedules trigger), or retry its run.`,
      );
    case 'goal':
      return wrongState(
        `${shown} is an observation. Reset its goal (headgate goals reset), or retry its run.`,
      );
    default:
      return wrongState(`${shown} is a person’s request. Send it again (POST /v1/work), or retry its run.`);
  }
}
