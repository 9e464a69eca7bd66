/**
 * A person's word on a run that waits for one: publish, discard, approve, decline. Each answers 202, the same when
 * repeated; 409 in a wrong state. What it leads to is a worker's: it performs the operations through the ledger.
 */
import { itemsOfRuns } from '@headgate/admission';
import {
  type ApprovalId,
  formatId,
  parseId,
  type RunId,
  WORD_MEANINGS,
  type Word,
  type WordRefusal,
} from '@headgate/domain';
import type { RunDetail } from '@headgate/sdk';
import { HttpProblem, type ServiceContext } from '@headgate/service';
import { type Heard, type RestoredItem, sayWord } from '@headgate/store';
import { actorOf, type Caller } from '../auth/index.js';
import { notFound, type Route, route } from '../http/index.js';
import { inScope, runDetail, runExists, type WaitingReader } from '../queries/index.js';
import { runDetailSchema, wordBody, z } from '../schemas/index.js';
import { runIdOf } from './read.js';

const SUMMARIES: Readonly<Record<Word, string>> = {
  publish: 'Let the sealed result be published: a worker performs exactly the operations of its approval',
  discard: 'Discard the sealed result: the run ends CANCELLED, and what it sealed stays readable',
  approve: 'Let work start that waits for a person before its agent does anything',
  decline: 'Decline such work: the run ends POLICY_DENIED',
};

export function wordRoutes(context: ServiceContext, waiting: WaitingReader): readonly Route[] {
  return (Object.keys(SUMMARIES) as Word[]).map((word) =>
    route(
      {
        id: `${word}Run`,
        method: 'post',
        path: `/v1/runs/{id}/${word}`,
        tag: 'Runs',
        summary: SUMMARIES[word],
        role: 'approver',
        query: z.strictObject({}),
        body: wordBody,
        answer: { status: 202, schema: runDetailSchema },
        problems: [404, 409, 503],
      },
      ({ caller, params, body }) => hear({ context, waiting, caller, word }, runIdOf(params['id']), body),
    ),
  );
}

type WordBody = z.infer<typeof wordBody>;

interface Hearing {
  readonly context: ServiceContext;
  readonly waiting: WaitingReader;
  readonly caller: Caller;
  readonly word: Word;
}

async function hear(hearing: Hearing, runId: RunId, body: WordBody): Promise<RunDetail> {
  const { context, waiting, caller, word } = hearing;
  const item = await itemOf(hearing, runId);
  const heard = await sayWord(context.database.api, {
    word,
    runId,
    approvalId: approvalIdOf(body.approvalId),
    actor: actorOf(caller),
    reason: body.reason ?? null,
    item,
    tenants: caller.tenants,
  });
  if (heard === null) throw unknown(runId);
  refuse(heard);
  const run = await inScope(context, caller, (c) => runDetail(c, waiting, caller, runId));
  if (run === null) throw unknown(runId);
  if (WORD_MEANINGS[word].outcome === 'approved') {
    await context.bus.wake('ready', { tenantId: item.tenantId, queue: run.queue });
  }
  return run;
}

/** Its place in the queue, made beforehand: dimensions are written in a transaction of their own (SQL rule 8). */
async function itemOf({ context, caller }: Hearing, runId: RunId): Promise<RestoredItem> {
  if (!(await inScope(context, caller, (c) => runExists(c, runId)))) throw unknown(runId);
  const { database, dimensions } = context;
  const [item] = await itemsOfRuns({ pool: database.service, dimensions }, [runId]);
  if (item === undefined) throw unknown(runId);
  return item;
}

const unknown = (runId: RunId): HttpProblem => notFound(`Run ${formatId('run', runId)}`);

const approvalIdOf = (text: string | undefined): ApprovalId | null =>
  text === undefined ? null : parseId('apr', text);

const REFUSALS: Readonly<Record<WordRefusal, { readonly status: number; readonly title: string }>> = {
  WRONG_STATE: { status: 409, title: 'It is not in a state for that.' },
  APPROVAL_EXPIRED: { status: 409, title: 'Nobody answered in time.' },
  FOUR_EYES: { status: 403, title: 'Another person has to say this.' },
};

function refuse({ answer }: Heard): void {
  if (answer.kind === 'refused') {
    throw new HttpProblem({ ...REFUSALS[answer.code], code: answer.code, detail: answer.detail });
  }
}
