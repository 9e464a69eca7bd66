/**
 * Replay of a receipt: the message it is about, read again by today's code and decided again by today's policy, through
 * the one insert path. Two things a person may mean:
 *
 *  - **the same signal once more** (`as: signal`). Its key and version stay, so a version that was admitted before is
 *    answered DUPLICATE_WORK and nothing runs twice; what no route took, or what a rule of then refused, is admitted if
 *    today's rules let it in. A *nonce* is what makes it a delivery of its own: `replay/{receipt}/signal/{nonce}`. The
 *    caller may give one; the same nonce again is answered with the same receipt.
 *  - **as new work** (`as: newWork`). The task's generation grows under its lock, as with a retry: a new run of the
 *    version, whatever became of the last one; WORK_IN_PROGRESS while one lives, unless that is to be cancelled. While
 *    the run of an earlier replay lives it is the answer to the same request repeated.
 *
 * Who may write: any number of people at once. What keeps two of them apart is the delivery's unique key, as with
 * `again/`: without a nonce the event id ends in how many replays of this kind there were, so two requests at once name
 * the same delivery; one is decided, the other is a duplicate and is answered with it. A crash after the commit and
 * before the answer: the repeat finds the receipt.
 */
import { randomUUID } from 'node:crypto';
import { type Admission, actorOf, type Submission } from '@headgate/admission';
import {
  type SignalAnswer as Decided,
  formatId,
  isTerminal,
  type ReceiptId,
  type RunId,
  type RunStatus,
  type SourcePolicy,
  type TaskId,
} from '@headgate/domain';
import type { SignalAnswer } from '@headgate/sdk';
import { answerBody, type ServiceContext } from '@headgate/service';
import { type Reread, reread } from '@headgate/sources';
import type { Connection } from '@headgate/store';
import { currentTraceparent } from '@headgate/telemetry';
import { sql } from 'drizzle-orm';
import { isTaken, taken } from '../again/answer.js';
import { type Caller, actorOf as callerName } from '../auth/index.js';
import { notFound } from '../http/problems.js';
import { inScope, rows } from '../queries/index.js';
import { type KeptMessage, keptMessage, type ReplayedReceipt, replayedReceipt } from './message.js';
import { notAMessage, payloadGone, sourceGone, unreadable } from './refusals.js';

interface ReplayOptions {
  readonly as: 'signal' | 'newWork';
  readonly nonce: string | null;
  /** Of new work: a live run is ended first. */
  readonly cancelLive: boolean;
}

interface ReplayContext {
  readonly context: ServiceContext;
  readonly admission: Admission;
}

export async function replayReceipt(
  { context, admission }: ReplayContext,
  caller: Caller,
  receiptId: ReceiptId,
  options: ReplayOptions,
): Promise<SignalAnswer> {
  const shown = formatId('rcpt', receiptId);
  const { receipt, message, earlier } = await inScope(context, caller, async (c) => ({
    receipt: await replayedReceipt(c, receiptId),
    message: await keptMessage(c, receiptId),
    earlier: await earlierReplays(c, receiptId, `replay/${shown}/${options.as}/`),
  }));
  if (receipt === null) throw notFound(`Receipt ${shown}`);
  const source = sourceOf(context, receipt);
  const read = rereadFor(receipt, message, source, context.policy.current().policy.retentionDays.payloads);
  if (options.nonce === null && options.as === 'newWork') {
    const standing = earlier.find(isUnderWay);
    if (standing !== undefined) return answerBody(standing);
  }
  const nonce = options.nonce ?? (options.as === 'signal' ? randomUUID() : String(earlier.length));
  const eventId = `replay/${shown}/${options.as}/${nonce}`;
  const answer = await admission.submit(submissionOf({ context, caller, receipt, read, eventId, options }));
  if (options.cancelLive && answer.taskId !== null) await wakeCancelled({ context, caller }, answer.taskId);
  const decided =
    answer.reasonCode === 'DUPLICATE_DELIVERY' ? await firstOf(context, caller, receiptId, eventId) : null;
  const told = answerBody(decided ?? answer);
  // The decision is what was asked for, whatever it is; new work that is refused was asked for in vain.
  return options.as === 'signal' ? told : taken(told);
}

/** Of its own tenant only: a source of this name may have been given to another. */
const sourceOf = ({ policy }: ServiceContext, { source, tenant }: ReplayedReceipt): SourcePolicy | null =>
  policy.current().policy.sources.find((one) => one.id === source && one.tenant === tenant) ?? null;

function rereadFor(
  receipt: ReplayedReceipt,
  message: KeptMessage | null,
  source: SourcePolicy | null,
  keptDays: number,
): Reread {
  if (receipt.kind === 'closing' || receipt.trigger !== 'event') throw notAMessage(receipt);
  if (source === null) throw sourceGone(receipt);
  if (message === null) throw payloadGone(receipt, keptDays);
  const { payload, actor, ...envelope } = message;
  const read = reread({ ...envelope, ...payload, source, actor: actorOf(actor) });
  if (read === null) throw unreadable(receipt);
  return read;
}

interface Parts {
  readonly context: ServiceContext;
  readonly caller: Caller;
  readonly receipt: ReplayedReceipt;
  readonly read: Reread;
  readonly eventId: string;
  readonly options: ReplayOptions;
}

function submissionOf({ context, caller, receipt, read, eventId, options }: Parts): Submission {
  const { signal, verdict } = read;
  return {
    signal: {
      ...signal,
      eventId,
      via: 'api',
      receivedAt: context.clock.now(),
      traceparent: currentTraceparent(),
    },
    tenant: receipt.tenant,
    // It lies beside the first receipt, to which this one leads.
    payload: null,
    verdict,
    replays: { receiptId: receipt.id, route: receipt.route, by: callerName(caller) },
    directive:
      options.as === 'newWork' ? { kind: 'retry', cancelLive: options.cancelLive } : { kind: 'none' },
  };
}

interface EarlierReplay extends Decided {
  readonly eventId: string;
  /** Of its run; null: it has none. */
  readonly status: RunStatus | null;
  /** It was put off, and is decided again at its time. */
  readonly isWaiting: boolean;
}

const isUnderWay = (one: EarlierReplay): boolean =>
  one.isWaiting || (isTaken(one) && one.status !== null && !isTerminal(one.status));

/** Replays of this kind, newest first; repeats of one left out. Index: receipt_parent. */
const earlierReplays = (c: Connection, receiptId: ReceiptId, family: string): Promise<EarlierReplay[]> =>
  rows<EarlierReplay>(
    c,
    sql`select x.id as "receiptId", x.outcome, x.reason_code as "reasonCode", x.message, x.run_id as "runId",
               x.task_id as "taskId", x.existing, x.retry_after as "retryAfter", x.event_id as "eventId", r.status,
               x.outcome = 'defer' and exists (
                 select 1 from headgate.deferred_signal d where d.receipt_id = x.id) as "isWaiting"
          from headgate.receipt x left join headgate.run r on r.id = x.run_id
         where x.parent_receipt_id = ${receiptId}::uuid and left(x.event_id, ${family.length}) = ${family}
           and x.reason_code <> 'DUPLICATE_DELIVERY'
         order by x.id desc`,
  );

/** What the delivery of this name was answered with. */
async function firstOf(
  context: ServiceContext,
  caller: Caller,
  receiptId: ReceiptId,
  eventId: string,
): Promise<Decided | null> {
  const decided = await inScope(context, caller, (c) => earlierReplays(c, receiptId, eventId));
  const same = decided.filter((one) => one.eventId === eventId);
  return same.find(isTaken) ?? same[0] ?? null;
}

async function wakeCancelled(
  { context, caller }: { readonly context: ServiceContext; readonly caller: Caller },
  taskId: TaskId,
): Promise<void> {
  const leaving = await inScope(context, caller, (c) =>
    rows<{ id: RunId }>(
      c,
      sql`select r.id from headgate.task_version v join headgate.run r on r.id = v.run_id
           where v.task_id = ${taskId}::uuid and v.outcome is null and r.status = 'CANCEL_REQUESTED'`,
    ),
  );
  for (const { id: runId } of leaving) await context.bus.wake('cancel', { runId });
}
