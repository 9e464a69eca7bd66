/**
 * Signals that cannot be decided by their payload: read at the forge, then decided through the one insert path. Their
 * payload lacks the head or the files, or only wakes (`authority: source`).
 *
 *   due rows ─► by target, a few targets at a time ─► each question asked once ─► all of a target promoted together
 *
 * Any number of reconcilers may read the same one: reading changes nothing, and a promotion deletes the waiting row,
 * so that one of them decides (the loser finds no row). A crash before that leaves the row, due as it was. Every
 * question is asked after the rows were seen: a source that changes in between is read as it is then, and the newest
 * wins. A forge that does not answer, or a repository without a commit, puts it off, longer each time; after
 * `MOST_TRIES` it is refused with what was last heard.
 */
import { isReadable, reviveDeferred } from '@headgate/admission';
import type { Signal, SourcePolicy, Verdict } from '@headgate/domain';
import {
  AskOnce,
  asksForFiles,
  type GithubAsker,
  hasCredentials,
  judgeSignal,
  type Readout,
  readAtSource,
} from '@headgate/sources';
import { type DeferredRow, deferredSignals } from '@headgate/store';
import { failPoint } from '@headgate/telemetry';
import type { Job, JobParts } from '../job.js';

const AT_ONCE = 4;
const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 600_000;
/** About an hour in all. */
const MOST_TRIES = 12;

/** What may be otherwise a little later. */
const WAITING: ReadonlySet<Readout['kind']> = new Set(['unavailable', 'empty']);

type Waiting = DeferredRow & { readonly tries: number };

export const unresolvedHeads: Job = {
  name: 'unresolved-heads',
  repairs: 'A payload leaves out what a decision needs, or its source is not to be taken at its word.',
  reasonCodes: [],
  period: 'read',
  limit: 100,
  make: (parts) => async () => {
    const { context, limit, github } = parts;
    const waiting = await context.database.service.use((c) => deferredSignals.dueForRead(c, limit));
    // What a newer process wrote is left to such a one.
    const isOurs = ({ candidate }: Waiting): boolean => isReadable(candidate);
    for (const row of waiting.filter((one) => !isOurs(one))) await putOff(parts, row);
    const asker = new AskOnce(github);
    const queue = [...byTarget(waiting.filter(isOurs))];
    const readers = Array.from({ length: AT_ONCE }, async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        await settleOrPutOff(parts, asker, next);
      }
    });
    await Promise.all(readers);
    return waiting.length >= limit ? 'busy' : 'idle';
  },
};

/** Signals of one target are decided together: a burst is one transaction. */
function byTarget(waiting: readonly Waiting[]): readonly (readonly Waiting[])[] {
  const groups = new Map<string, Waiting[]>();
  for (const row of waiting) {
    const { source, repository, target, inputVersion } = reviveDeferred(row.candidate).signal;
    const about = target === null ? inputVersion : [target.kind, target.id];
    const key = JSON.stringify([source, repository?.fullName ?? null, about]);
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return [...groups.values()];
}

interface Read {
  readonly row: Waiting;
  readonly found: Readout;
}

/** One bad target stops no other. */
async function settleOrPutOff(parts: JobParts, asker: GithubAsker, rows: readonly Waiting[]): Promise<void> {
  try {
    await settle(parts, asker, rows);
  } catch (fault) {
    for (const row of rows) {
      parts.report.refused(fault, { receipt: row.receiptId });
      await putOff(parts, row);
    }
  }
}

async function settle(parts: JobParts, asker: GithubAsker, rows: readonly Waiting[]): Promise<void> {
  const reads: Read[] = [];
  for (const row of rows) reads.push({ row, found: await read(parts, asker, row) });
  await failPoint('heads.read');
  const isOver = ({ row, found }: Read): boolean => !WAITING.has(found.kind) || row.tries + 1 >= MOST_TRIES;
  const decided = reads.filter(isOver);
  for (const { row, found } of reads.filter((one) => !isOver(one))) await putOff(parts, row, found);
  const results = await parts.admission.promoteRead(decided.map((one) => promotionOf(parts, one)));
  for (const [at, result] of results.entries()) {
    const row = decided[at]?.row;
    if (result.status === 'fulfilled' || row === undefined) continue;
    parts.report.refused(result.reason, { receipt: row.receiptId });
    await putOff(parts, row);
  }
}

async function read({ context }: JobParts, client: GithubAsker, row: Waiting): Promise<Readout> {
  const { signal, isWake, route } = reviveDeferred(row.candidate);
  const { policy } = context.policy.current();
  const source = sourceOf(policy.sources, signal);
  if (source === undefined) {
    return { kind: 'unresolved', detail: `The source ${signal.source} has no App or token to ask with.` };
  }
  const routes = policy.routes.filter((one) => route === null || one.id === route);
  return readAtSource({
    ...{ client, source, signal, isWake },
    asksForFiles: (found) => routes.some((one) => asksForFiles(one, found, isWake)),
  });
}

const sourceOf = (sources: readonly SourcePolicy[], signal: Signal): SourcePolicy | undefined =>
  sources.find((one) => one.id === signal.source && hasCredentials(one));

function promotionOf({ context }: JobParts, { row, found }: Read) {
  const { signal } = found;
  const source = signal === undefined ? undefined : sourceOf(context.policy.current().policy.sources, signal);
  const judged = signal === undefined || source === undefined ? null : judgeSignal(source, signal);
  return {
    row,
    ...(signal === undefined ? {} : { signal }),
    verdict: verdictOf(found, row.tries + 1) ?? judged,
  };
}

/** Null: it is decided like any other. */
function verdictOf(found: Readout, tries: number): Verdict | null {
  switch (found.kind) {
    case 'read':
      return null;
    case 'closed':
      return verdict('no-work', 'TARGET_CLOSED', found.detail);
    case 'moved':
      return verdict('reject', 'STALE_INPUT', found.detail);
    case 'otherwise':
      return verdict('no-work', 'STALE_INPUT', found.detail);
    case 'unresolved':
      return verdict('reject', 'HEAD_UNRESOLVED', found.detail);
    case 'empty':
      return verdict('reject', 'HEAD_UNRESOLVED', `${found.detail} It was looked at ${tries} times.`);
    case 'untold':
      return verdict('reject', 'SOURCE_UNAVAILABLE', found.detail);
    case 'unavailable':
      return verdict('reject', 'SOURCE_UNAVAILABLE', `${found.detail} It was tried ${tries} times.`);
  }
}

const verdict = (
  outcome: Verdict['outcome'],
  reasonCode: Verdict['reasonCode'],
  detail: string,
): Verdict => ({ outcome, reasonCode, detail, retryAfter: null, rule: 'head-resolution' });

function putOff({ context }: JobParts, row: Waiting, found?: Readout): Promise<number> {
  const untilMs = found?.kind === 'unavailable' ? (found.until?.getTime() ?? 0) : 0;
  const backOffMs = Math.min(FIRST_WAIT_MS * 2 ** row.tries, LONGEST_WAIT_MS);
  const delayMs = Math.max(backOffMs, untilMs - context.clock.now().getTime());
  return context.database.service.use((c) => deferredSignals.postpone(c, [row.id], delayMs));
}
