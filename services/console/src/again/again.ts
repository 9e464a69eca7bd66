/**
 * Retry of a run and reset of a task: a person asks for known work again, through the one insert path.
 *
 * The same request gets the same answer. What stands for "the same" is the signal's event id, which the delivery's
 * unique key holds once: `retry/{run}/{n}` and `reset/{task}/{generation}/{n}`, with n = how often it was refused
 * before. So
 *  - two requests at once name the same delivery: one is decided, the other is a duplicate and is answered with it;
 *  - a request repeated after it was taken finds the receipt and is answered with it, whatever became of the run
 *    (what is tried again next is the new run, not the old one again);
 *  - one that was refused (a run was live) may be asked again: n has grown, and it is decided anew.
 * A crash after the commit and before the answer: the repeat finds the receipt.
 */
import type { Admission } from '@headgate/admission';
import {
  type SignalAnswer as Decided,
  type Directive,
  formatId,
  isTerminal,
  type ReceiptId,
  type RunId,
  type Signal,
  type TaskId,
} from '@headgate/domain';
import type { SignalAnswer } from '@headgate/sdk';
import { answerBody, type ServiceContext } from '@headgate/service';
import type { Connection } from '@headgate/store';
import { currentTraceparent } from '@headgate/telemetry';
import { sql } from 'drizzle-orm';
import type { Caller } from '../auth/index.js';
import { notFound, wrongState } from '../http/problems.js';
import { inScope, rows } from '../queries/index.js';
import { isTaken, taken } from './answer.js';
import { type AgainSource, newestSource, runSource } from './source.js';

export interface AgainContext {
  readonly context: ServiceContext;
  readonly admission: Admission;
}

export interface AgainOptions {
  readonly cancelLive: boolean;
  readonly reason: string | null;
}

/** A new run of the same version. */
export async function retryRun(
  { context, admission }: AgainContext,
  caller: Caller,
  runId: RunId,
  options: AgainOptions,
): Promise<SignalAnswer> {
  const shown = formatId('run', runId);
  const source = await inScope(context, caller, (c) => runSource(c, runId));
  if (source === null) throw notFound(`Run ${shown}`);
  return ask({ context, admission }, caller, source, {
    kind: 'retry',
    family: `retry/${shown}/`,
    ...options,
  });
}

/** A new publication of the task's newest version; a cancelled task works again. */
export async function resetTask(
  { context, admission }: AgainContext,
  caller: Caller,
  taskId: TaskId,
  options: AgainOptions,
): Promise<SignalAnswer> {
  const shown = formatId('task', taskId);
  const source = await inScope(context, caller, (c) => newestSource(c, taskId));
  if (source === null) {
    const isKnown = await inScope(context, caller, (c) => taskExists(c, taskId));
    if (!isKnown) throw notFound(`Task ${shown}`);
    throw wrongState(
      `Task ${shown} has had no run, so there is nothing to reset. Send its work again (POST /v1/work).`,
    );
  }
  // The run of a reset that lives is the answer to the same request repeated.
  if (source.receiptType === RESET_TYPE && !isTerminal(source.status)) {
    const standing = await inScope(context, caller, (c) => answerOf(c, source.receiptId));
    if (standing !== null) return standing;
  }
  const family = `reset/${shown}/${source.taskGeneration}/`;
  return ask({ context, admission }, caller, source, { kind: 'reset', family, ...options });
}

const RETRY_TYPE = 'manual.retry';
const RESET_TYPE = 'manual.reset';
const SOURCE = 'api';

interface Question extends AgainOptions {
  readonly kind: 'retry' | 'reset';
  /** How the event ids of this request begin. */
  readonly family: string;
}

async function ask(
  { context, admission }: AgainContext,
  caller: Caller,
  source: AgainSource,
  question: Question,
): Promise<SignalAnswer> {
  const earlier = await inScope(context, caller, (c) => familyOf(c, source.taskId, question.family));
  const standing = earlier.find(isTaken);
  if (standing !== undefined) return standing;
  const eventId = `${question.family}${earlier.length}`;
  const directive: Directive = { kind: question.kind, cancelLive: question.cancelLive };
  const answer = await admission.submit({
    signal: signalOf(context, caller, source, question, eventId),
    tenant: source.tenant,
    payload: null,
    work: { workKey: source.workKey, inputVersion: source.inputVersion },
    directive,
    again: {
      route: source.route,
      concurrencyKey: source.concurrencyKey,
      promptValues: source.spec.promptValues ?? {},
    },
    observe: source.spec.observe ?? null,
  });
  if (answer.reasonCode === 'DUPLICATE_DELIVERY') {
    const decided = await inScope(context, caller, (c) => familyOf(c, source.taskId, question.family));
    return taken(decided.find(isTaken) ?? decided[0] ?? answerBody(answer));
  }
  const shown = taken(answerBody(answer));
  for (const runId of source.live) await context.bus.wake('cancel', { runId });
  return shown;
}

function signalOf(
  { clock }: ServiceContext,
  caller: Caller,
  source: AgainSource,
  question: Question,
  eventId: string,
): Signal {
  const { spec } = source;
  return {
    source: SOURCE,
    eventId,
    type: question.kind === 'retry' ? RETRY_TYPE : RESET_TYPE,
    trigger: 'manual',
    via: 'api',
    hookId: null,
    subject: source.workKey,
    emittedAt: null,
    receivedAt: clock.now(),
    actor: { kind: 'token', id: caller.tokenId, name: caller.name },
    repository:
      source.repositoryId === null || source.repositoryName === null
        ? null
        : {
            externalId: source.repositoryId,
            fullName: source.repositoryName,
            defaultBranch: source.defaultBranch,
          },
    target: spec.target,
    inputVersion: source.inputVersion,
    sourceAt: source.sourceAt,
    parentVersions: source.parentVersions,
    data: {
      route: source.route,
      inputs: spec.inputs,
      again: formatId('run', source.runId),
      reason: question.reason,
    },
    traceparent: currentTraceparent(),
  };
}

const COLUMNS = sql.raw(
  'id as "receiptId", outcome, reason_code as "reasonCode", message, run_id as "runId", task_id as "taskId", existing, retry_after as "retryAfter"',
);

/** What the same request was answered with before, newest first; repeats of a delivery left out. */
const familyOf = async (c: Connection, taskId: TaskId, family: string): Promise<SignalAnswer[]> =>
  (
    await rows<Decided>(
      c,
      sql`select ${COLUMNS} from headgate.receipt
           where task_id = ${taskId}::uuid and kind = 'decision' and source = ${SOURCE}
             and left(event_id, ${family.length}) = ${family} and reason_code <> 'DUPLICATE_DELIVERY'
           order by id desc`,
    )
  ).map(answerBody);

const answerOf = async (c: Connection, receiptId: ReceiptId): Promise<SignalAnswer | null> => {
  const [row] = await rows<Decided>(
    c,
    sql`select ${COLUMNS} from headgate.receipt where id = ${receiptId}::uuid`,
  );
  return row === undefined ? null : answerBody(row);
};

const taskExists = async (c: Connection, taskId: TaskId): Promise<boolean> =>
  (await rows(c, sql`select 1 from headgate.task where id = ${taskId}::uuid`)).length > 0;
