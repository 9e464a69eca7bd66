/** Why a run waits now, and what would let it start: said for every waiting run (surfaces, *why*). */
import type { ApprovalSubject } from '../approval.js';
import type { ReasonCode } from '../reasons.js';
import { counted, durationInWords, type Numbers, sentence } from '../sentences.js';
import { type BlockInput, blockOf } from './block.js';
import type { Block, QueueCandidate } from './types.js';

/** Where the run waits. */
export type Waiting =
  /** A ready item; `ahead` = ready items of its tenant and queue with a smaller rank. */
  | { readonly kind: 'ready'; readonly ahead: number }
  /** A delayed item: back-off, a deferral, a hold. */
  | {
      readonly kind: 'delayed';
      readonly reasonCode: ReasonCode;
      readonly visibleAt: number;
      readonly detail?: string | null;
    }
  /** Dispatched and not claimed yet; after `takenBackAt` it is ready again. */
  | { readonly kind: 'dispatched'; readonly takenBackAt: number };

/** A request that nobody has answered. */
export interface OpenRequest {
  readonly subject: ApprovalSubject;
  readonly expiresAt: number;
  /** Whose own consent does not count; null: anybody's with the role does. */
  readonly notBy: string | null;
}

export interface WaitingReason {
  readonly reasonCode: ReasonCode;
  readonly message: string;
  readonly numbers: Numbers;
  /** A sentence, never empty. */
  readonly wouldStartWhen: string;
  /** When it starts or is looked at again by itself, in ms; null = not by time. */
  readonly untilMs: number | null;
}

/** `now` in ms of database time, like every other time here. */
export function waitingReason(
  candidate: QueueCandidate,
  waiting: Waiting,
  input: BlockInput & { readonly now: number },
): WaitingReason {
  switch (waiting.kind) {
    case 'ready':
      return whileReady(candidate, waiting.ahead, input);
    case 'delayed': {
      const leftMs = Math.max(0, waiting.visibleAt - input.now);
      return {
        reasonCode: waiting.reasonCode,
        message: sentence(waiting.reasonCode, { detail: waiting.detail ?? null }),
        numbers: { leftMs },
        wouldStartWhen:
          leftMs === 0
            ? 'It is due: it becomes ready at the next tick.'
            : `${durationInWords(leftMs)} have passed.`,
        untilMs: waiting.visibleAt,
      };
    }
    case 'dispatched':
      return {
        reasonCode: 'READY',
        message: sentence('READY', { detail: 'It was dispatched and a worker is about to claim it.' }),
        numbers: { leftMs: Math.max(0, waiting.takenBackAt - input.now) },
        wouldStartWhen: 'A worker of its queue claims it.',
        untilMs: waiting.takenBackAt,
      };
  }
}

/**
 * Of a run that waits for a person: who can let it go on, and until when. It has no place in the queue.
 * @param request null: nobody knows what was asked.
 * @param detail why it is asked again, if it is.
 */
export function approvalReason(
  request: OpenRequest | null,
  detail: string | null,
  now: number,
): WaitingReason {
  const asked = WORDS_FOR[request?.subject ?? 'admission'];
  const until = request === null ? '' : `, until ${toTheMinute(request.expiresAt)}`;
  const notBy = request?.notBy == null ? '' : `, but not ${request.notBy}, who asked for it`;
  return {
    reasonCode: 'APPROVAL_REQUIRED',
    message: `${asked.message}${detail === null ? '' : ` ${detail}`}`,
    numbers: request === null ? {} : { leftMs: Math.max(0, request.expiresAt - now) },
    wouldStartWhen: `A person with the role approver or admin ${asked.does} it${notBy}${until}.`,
    untilMs: request?.expiresAt ?? null,
  };
}

/** `2026-01-31 14:02 UTC`: for people in any zone. */
const toTheMinute = (ms: number): string =>
  `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

const WORDS_FOR: Readonly<Record<ApprovalSubject, { readonly message: string; readonly does: string }>> = {
  admission: { message: sentence('APPROVAL_REQUIRED'), does: 'approves' },
  proposal: { message: 'The result is sealed and waits for a person to publish it.', does: 'publishes' },
};

function whileReady(candidate: QueueCandidate, ahead: number, input: BlockInput): WaitingReason {
  const block = blockOf(candidate, input);
  const reasonCode = block?.reasonCode ?? 'READY';
  const numbers = { ...(block?.numbers ?? {}), ahead };
  return {
    reasonCode,
    message: sentence(reasonCode, { numbers }),
    numbers,
    wouldStartWhen: block === null ? itsTurn(ahead) : wouldStart(block, ahead),
    untilMs: null,
  };
}

function wouldStart({ reasonCode, numbers }: Block, ahead: number): string {
  const mustEnd = counted(Math.max(1, (numbers['held'] ?? 0) - (numbers['limit'] ?? 0) + 1), 'active run');
  const ends = mustEnd.startsWith('1 ') ? 'ends' : 'end';
  switch (reasonCode) {
    case 'NO_CAPABLE_WORKER':
      return 'A worker that offers what it requires is started.';
    case 'NO_ISOLATION':
      return 'A worker that can isolate agents is started; `headgate doctor` names the command that mends this one.';
    case 'CONCURRENCY_KEY_BUSY':
      return `${mustEnd} with the same key ${ends}.`;
    case 'REPOSITORY_AT_LIMIT':
      return `${mustEnd} of the repository ${ends}.`;
    case 'USER_AT_LIMIT':
      return `${mustEnd} of the user ${ends}.`;
    case 'PROVIDER_AT_LIMIT':
      return `${mustEnd} of the provider ${ends}.`;
    case 'RISK_AT_LIMIT':
      return `${mustEnd} of its risk class ${ends}.`;
    case 'TENANT_AT_LIMIT':
      return `${mustEnd} of the tenant ${ends}.`;
    case 'GLOBAL_AT_LIMIT':
      return `${mustEnd} of any tenant ${ends}.`;
    case 'READY':
      return ahead === 0
        ? 'A worker of its queue has a free slot.'
        : `${itsTurn(ahead)} No slot is free now.`;
  }
}

const itsTurn = (ahead: number): string =>
  ahead === 0 ? 'The next dispatch takes it.' : `${counted(ahead, 'run')} ahead of it got a slot.`;
