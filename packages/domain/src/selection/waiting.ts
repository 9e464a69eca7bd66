/** Why a run waits now, and what would let it start: said for every waiting run (surfaces, *why*). */
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
  | { readonly kind: 'dispatched'; readonly takenBackAt: number }
  /** A person must approve; null = without end. */
  | { readonly kind: 'approval'; readonly expiresAt: number | null };

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
    case 'approval':
      return {
        reasonCode: 'APPROVAL_REQUIRED',
        message: sentence('APPROVAL_REQUIRED'),
        numbers: waiting.expiresAt === null ? {} : { leftMs: Math.max(0, waiting.expiresAt - input.now) },
        wouldStartWhen: 'A person approves it.',
        untilMs: waiting.expiresAt,
      };
  }
}

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
