/**
 * One act on many runs: first shown, then done to exactly what was shown.
 *
 *   dry run ─► the newest runs that match and can be acted on ─► token ─► the same call with it ─► one outcome each
 *
 * Who writes: each run is acted on by the transaction that acts on one run, under its own locks; nothing holds two.
 * What has come since the dry run is not touched, what no longer matches is left alone. A crash in the middle, or the
 * call repeated: those already done are told so or skipped, the others are done.
 */
import { formatId, isCancelling, isTerminal, parseId, type RunId, type RunStatus } from '@headgate/domain';
import type { BulkAnswer, BulkOutcome, BulkRun, Run } from '@headgate/sdk';
import { HttpProblem } from '@headgate/service';
import { cancelRun } from '@headgate/store';
import type { z } from 'zod';
import { type AgainContext, retryRun } from '../again/index.js';
import { actorOf, type Caller } from '../auth/index.js';
import { badRequest } from '../http/index.js';
import { inScope, runPageOf } from '../queries/index.js';
import type { bulkBody, bulkFilter } from '../schemas/index.js';
import { previewToken, readPreviewToken } from './preview-token.js';

type BulkBody = z.infer<typeof bulkBody>;
type Filter = z.infer<typeof bulkFilter>;

/** Runs of one call at most: a person can still read what they are about to do. */
const MAX_RUNS = 200;
/** Pages of matching runs looked through for those that can be acted on. */
const MAX_PAGES = 10;
const PAGE = 200;

export async function actOnMany(again: AgainContext, caller: Caller, body: BulkBody): Promise<BulkAnswer> {
  const { action, filter } = body;
  const question = { action, filter };
  if (body.dryRun) {
    const { runs, more } = await matching(again, caller, action, filter);
    return {
      action,
      dryRun: true,
      count: runs.length,
      more,
      token: previewToken(question, runs.map(idOf)),
      runs: runs.map((run) => shown(run.id, run.status, 'possible')),
    };
  }
  const runIds = previewed(question, body.token);
  const runs = await actOnEach(again, caller, body, runIds);
  const count = runs.filter(({ outcome }) => outcome === 'done' || outcome === 'requested').length;
  return { action, dryRun: false, count, more: false, token: null, runs };
}

function previewed(question: unknown, token: string | undefined): readonly RunId[] {
  if (token === undefined) {
    throw badRequest('body.token: ask with dryRun true first, and send the token of its answer.');
  }
  const read = readPreviewToken(question, token);
  switch (read.kind) {
    case 'runs':
      return read.runIds.slice(0, MAX_RUNS);
    case 'other':
      throw badRequest('body.token: it was made for another action or filter. Ask with dryRun true again.');
    case 'unreadable':
      throw badRequest(
        'body.token: it is not one of a dry run. Ask with dryRun true, and send what it answers.',
      );
  }
}

async function matching(
  { context }: AgainContext,
  caller: Caller,
  action: BulkBody['action'],
  filter: Filter,
): Promise<{ readonly runs: readonly Run[]; readonly more: boolean }> {
  const runs: Run[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const found = await inScope(context, caller, (c) =>
      runPageOf(c, withoutReasons, { ...filter, limit: PAGE, cursor }),
    );
    const possible = found.items.filter((run) => canAct(action, run.status));
    runs.push(...possible.slice(0, MAX_RUNS - runs.length));
    const isCut = runs.length === MAX_RUNS && (found.nextCursor !== null || possible.length > MAX_RUNS);
    if (isCut || found.nextCursor === null) return { runs, more: found.nextCursor !== null || isCut };
    cursor = found.nextCursor;
  }
  return { runs, more: true };
}

/** Why each one waits is nothing that the act depends on. */
const withoutReasons = () => Promise.resolve(new Map());

const canAct = (action: BulkBody['action'], status: RunStatus): boolean =>
  action === 'cancel' ? !isTerminal(status) && !isCancelling(status) : isTerminal(status);

async function actOnEach(
  again: AgainContext,
  caller: Caller,
  { action, filter, reason }: BulkBody,
  runIds: readonly RunId[],
): Promise<BulkRun[]> {
  const ids = runIds.map((runId) => formatId('run', runId)).join(',');
  const still = await inScope(again.context, caller, (c) =>
    runPageOf(c, withoutReasons, { ...filter, ids, limit: PAGE }),
  );
  const byId = new Map(still.items.map((run) => [run.id, run]));
  const done: BulkRun[] = [];
  for (const runId of runIds) {
    const run = byId.get(formatId('run', runId));
    if (run === undefined || !canAct(action, run.status)) {
      done.push(skipped(runId, run ?? null));
      continue;
    }
    const act = action === 'cancel' ? cancelOne : replayOne;
    done.push(await act(again, caller, runId, run.status, reason ?? null));
  }
  return done;
}

type ActOnOne = (
  again: AgainContext,
  caller: Caller,
  runId: RunId,
  status: RunStatus,
  reason: string | null,
) => Promise<BulkRun>;

const cancelOne: ActOnOne = async ({ context }, caller, runId, before, reason) => {
  const stopped = await cancelRun(context.database.api, runId, {
    actor: actorOf(caller),
    reason,
    tenants: caller.tenants,
  });
  const status = stopped?.status ?? before;
  const id = formatId('run', runId);
  switch (stopped?.result) {
    case 'ended':
      return shown(id, status, 'done');
    case 'requested':
      await context.bus.wake('cancel', { runId });
      return shown(id, status, 'requested');
    case 'already':
      return shown(id, status, 'requested');
    default:
      return { ...shown(id, status, 'skipped'), code: 'WRONG_STATE', detail: 'It has ended meanwhile.' };
  }
};

const replayOne: ActOnOne = async (again, caller, runId, status, reason) => {
  const id = formatId('run', runId);
  try {
    const answer = await retryRun(again, caller, runId, { cancelLive: false, reason });
    return { ...shown(id, status, 'done'), newRunId: answer.runId };
  } catch (fault) {
    if (!(fault instanceof HttpProblem)) throw fault;
    const { code, detail } = fault.problem;
    return { ...shown(id, status, 'refused'), code, detail };
  }
};

const shown = (runId: string, status: RunStatus | null, outcome: BulkOutcome): BulkRun => ({
  runId,
  status,
  outcome,
  newRunId: null,
  code: null,
  detail: null,
});

const skipped = (runId: RunId, run: Run | null): BulkRun => ({
  ...shown(formatId('run', runId), run?.status ?? null, 'skipped'),
  code: 'WRONG_STATE',
  detail: run === null ? 'It does not match the filter any more.' : `It is ${run.status} by now.`,
});

function idOf(run: Run): RunId {
  const runId = parseId('run', run.id);
  if (runId === null) throw new Error(`${run.id} is not the id of a run`);
  return runId;
}
