/**
 * Waits for a receipt, no longer than a sender does. GitHub gives up after ten seconds and does not try again by
 * itself, so an answer must be out before: 503 says that nothing was acknowledged.
 *
 * The signal that was given up may still be committed; sent again it is then a DUPLICATE_DELIVERY.
 */
import { OverloadedError } from '@headgate/admission';
import { formatId, type SignalAnswer } from '@headgate/domain';
import { HttpProblem, NoPolicyError } from '@headgate/service';
import { CommitUnknownError, isConnectionFault, isTransient } from '@headgate/store';
import { annotate, HEADGATE_ATTR, type Logger } from '@headgate/telemetry';

const ANSWER_WITHIN_MS = 8_000;
const RETRY_AFTER_SECONDS = 5;

/** Postgres is away, full, read-only or overloaded, as SQL says it: by the class of the code. */
const AWAY = /^(?:53|57|58|F0|XX)|^25006$/;

export async function acknowledged<T>(logger: Logger, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TooLateError()), ANSWER_WITHIN_MS);
  });
  try {
    const answer = await Promise.race([work, late]);
    annotate(() => decided(answer));
    return answer;
  } catch (fault) {
    if (!isUnavailable(fault)) throw fault;
    logger.warn({ err: fault }, 'a signal could not be stored now; its sender was asked to come again');
    throw unavailable(fault);
  } finally {
    clearTimeout(timer);
  }
}

/** What the request's span is to say of the decision. */
function decided(answer: unknown): Record<string, string> {
  if (typeof answer !== 'object' || answer === null || !('receiptId' in answer)) return {};
  const { receiptId, runId, outcome, reasonCode } = answer as Partial<SignalAnswer>;
  return {
    ...(receiptId === undefined ? {} : { [HEADGATE_ATTR.receiptId]: formatId('rcpt', receiptId) }),
    ...(runId === undefined || runId === null ? {} : { [HEADGATE_ATTR.runId]: formatId('run', runId) }),
    ...(outcome === undefined ? {} : { [HEADGATE_ATTR.outcome]: outcome }),
    ...(reasonCode === undefined ? {} : { [HEADGATE_ATTR.reasonCode]: reasonCode }),
  };
}

class TooLateError extends Error {
  constructor() {
    super(`no receipt within ${ANSWER_WITHIN_MS} ms`);
    this.name = 'TooLateError';
  }
}

function isUnavailable(fault: unknown): boolean {
  if (fault instanceof OverloadedError || fault instanceof NoPolicyError) return true;
  if (fault instanceof TooLateError || fault instanceof CommitUnknownError) return true;
  if (isConnectionFault(fault) || isTransient(fault)) return true;
  const code = typeof fault === 'object' && fault !== null && 'code' in fault ? String(fault.code) : '';
  return AWAY.test(code);
}

const unavailable = (cause: unknown): HttpProblem =>
  new HttpProblem(
    {
      status: 503,
      code: 'UNAVAILABLE',
      title: 'The signal could not be stored now.',
      detail: 'Nothing was acknowledged. Send it again; the same delivery is never worked on twice.',
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    },
    { cause },
  );
