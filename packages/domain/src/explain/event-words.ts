/** What an event of a run says to people. */
import { formatId, parseId, type ReceiptId, type RunId } from '../ids.js';
import { isReasonCode, messageOf } from '../reasons.js';
import { quoted } from '../sentences.js';
import type { AttemptFact, EventFact, OperationFact } from './facts.js';

/** What else is known about the runs of the events. */
export interface EventContext {
  readonly attempts: readonly AttemptFact[];
  readonly operations: readonly OperationFact[];
}

const WORDS: Readonly<Record<string, string>> = {
  'run.admitted': 'The run was made.',
  'run.queued': 'The run is in the queue.',
  'run.waiting_capacity': 'The run was put off.',
  'run.waiting_approval': 'The run waits for a person.',
  'run.preparing_sandbox': 'The workspace is being prepared.',
  'run.running': 'The agent works.',
  'run.verifying': 'The result is being verified.',
  'run.judging': 'The result is being judged.',
  'run.finalizing': 'The result is sealed; side effects begin.',
  'run.succeeded': 'The run succeeded.',
  'run.failed': 'The run failed.',
  'run.failed_retryable': 'The attempt failed; the run will be tried again.',
  'run.stale_lease': 'The lease ran out.',
  'run.cancel_requested': 'Cancellation was asked for.',
  'run.cancelling': 'The run is being cancelled.',
  'run.cancelled': 'The run was cancelled.',
  'run.no_work': 'There was nothing left to do.',
  'run.superseded': 'A newer version took its place.',
  'run.expired': 'The run was not started in time.',
  'run.policy_denied': 'Policy refused the run.',
  'item.taken_back': 'No worker claimed it in time; it is ready again.',
  'task.cancelled': 'The task was cancelled.',
  'task.latch_released': 'The version that waited behind a run was let through.',
};

export function eventMessage(event: EventFact, context: EventContext): string {
  const { type } = event;
  const base = type.startsWith('operation.')
    ? operationWords(event, context.operations)
    : type === 'run.claimed'
      ? claimWords(event, context.attempts)
      : (WORDS[type] ?? `${capital(type.replaceAll(/[._]/g, ' '))}.`);
  return [base, reasonWords(event), dataWords(event)].filter((part) => part !== '').join(' ');
}

function claimWords(event: EventFact, attempts: readonly AttemptFact[]): string {
  const attempt = attempts.find((one) => one.leaseId === event.leaseId && one.runId === event.runId);
  const who = attempt === undefined ? 'A worker' : `Worker ${formatId('wkr', attempt.workerId)}`;
  const facts = [
    attempt === undefined ? null : `attempt ${attempt.number}`,
    event.fencingToken === null ? null : `fencing token ${event.fencingToken}`,
  ].filter((fact) => fact !== null);
  return facts.length === 0 ? `${who} took the lease.` : `${who} took the lease (${facts.join(', ')}).`;
}

/** The reason's sentence, unless the words above say the same. */
function reasonWords({ type, reasonCode }: EventFact): string {
  if (reasonCode === null || !isReasonCode(reasonCode)) return '';
  const isSaid =
    reasonCode === 'ADMITTED' ||
    (type === 'run.succeeded' && reasonCode === 'SUCCEEDED') ||
    (type === 'item.taken_back' && reasonCode === 'DISPATCH_EXPIRED') ||
    (type === 'task.latch_released' && reasonCode === 'REPAIR_LATCH_RELEASED');
  return isSaid ? '' : messageOf(reasonCode);
}

function dataWords({ type, data }: EventFact): string {
  if (type.startsWith('operation.')) return '';
  const reason = textOf(data, 'reason');
  const by = textOf(data, 'by');
  const detail = textOf(data, 'detail');
  return [
    reason === null ? '' : `Given reason: ${quoted(reason)}.`,
    by === null ? '' : `By ${shownRun(by)}.`,
    detail === null ? '' : quoted(detail),
  ]
    .filter((part) => part !== '')
    .join(' ');
}

function operationWords(event: EventFact, operations: readonly OperationFact[]): string {
  const key = textOf(event.data, 'key');
  const operation = operations.find((one) => one.key === key);
  const what = textOf(event.data, 'kind') ?? operation?.kind ?? 'side effect';
  const where = operation?.url ?? textOf(event.data, 'externalId') ?? operation?.externalId ?? null;
  const tries = numberOf(event.data, 'tries');
  const detail = textOf(event.data, 'detail');
  const state = event.type.slice('operation.'.length);
  const said = detail === null ? '' : ` ${quoted(detail)}`;
  switch (state) {
    case 'intended':
      return `The ${what} is intended (${quoted(key ?? '')}).`;
    case 'attempted':
      return `The ${what} is being called${tries === null ? '' : ` (try ${tries})`}.`;
    case 'confirmed':
      return `The ${what} is confirmed${where === null ? '' : `: ${where}`}.`;
    case 'ambiguous':
      return `Whether the ${what} took effect is unknown; it is read before anything is tried again.${said}`;
    case 'absent':
      return `The ${what} was read and had not taken effect.${said}`;
    case 'conflicted':
      return `The ${what} met another's change; nothing was overwritten.${said}`;
    default:
      return `The ${what} is ${state}.${said}`;
  }
}

const shownRun = (id: string): string =>
  parseId('run', id) === null && /^[0-9a-f-]{36}$/.test(id) ? formatId('run', id as RunId) : id;

/** A field of an event's data, when it is a text. */
export function textOf(data: unknown, name: string): string | null {
  if (typeof data !== 'object' || data === null) return null;
  const value = (data as Record<string, unknown>)[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

function numberOf(data: unknown, name: string): number | null {
  if (typeof data !== 'object' || data === null) return null;
  const value = (data as Record<string, unknown>)[name];
  return typeof value === 'number' ? value : null;
}

/** The receipt that an event of birth names. */
export const receiptOf = (data: unknown): ReceiptId | null => textOf(data, 'receiptId') as ReceiptId | null;

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
