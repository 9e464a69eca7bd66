/**
 * Signals whose payload lacks their head: read at the forge, then decided through the one insert path.
 *
 * Any number of reconcilers may read the same one: reading changes nothing, and a promotion deletes the waiting row,
 * so that one of them decides (the loser rolls back). A crash before that leaves the row, due as it was. A forge that
 * does not answer puts it off, longer each time; after `MOST_TRIES` it is refused with what was last heard.
 */
import { reviveDeferred } from '@headgate/admission';
import type { Verdict } from '@headgate/domain';
import { type HeadResolution, hasCredentials, resolveHead } from '@headgate/sources';
import { type DeferredRow, deferredSignals } from '@headgate/store';
import { failPoint } from '@headgate/telemetry';
import type { Job, JobParts } from '../job.js';

const AT_ONCE = 4;
const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 600_000;
/** About an hour in all. */
const MOST_TRIES = 12;

type Waiting = DeferredRow & { readonly tries: number };

export const unresolvedHeads: Job = {
  name: 'unresolved-heads',
  repairs:
    'A payload does not say at which commit its target stands, or to which pull request a commit belongs.',
  reasonCodes: [],
  period: 'read',
  limit: 20,
  make: (parts) => async () => {
    const { context, limit } = parts;
    const waiting = await context.database.service.use((c) => deferredSignals.dueForRead(c, limit));
    const queue = [...waiting];
    const readers = Array.from({ length: AT_ONCE }, async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await settle(parts, next);
    });
    await Promise.all(readers);
    return waiting.length >= limit ? 'busy' : 'idle';
  },
};

async function settle(parts: JobParts, row: Waiting): Promise<void> {
  try {
    await decide(parts, row, await resolve(parts, row));
  } catch (fault) {
    parts.report.refused(fault, { receipt: row.receiptId });
    await putOff(parts, row);
  }
}

async function resolve({ context, github }: JobParts, row: Waiting): Promise<HeadResolution> {
  const { signal } = reviveDeferred(row.candidate);
  const source = context.policy.current().policy.sources.find((one) => one.id === signal.source);
  if (source === undefined || !hasCredentials(source)) {
    return { kind: 'unresolved', detail: `The source ${signal.source} has no App or token to ask with.` };
  }
  return resolveHead({ client: github, source, signal });
}

async function decide(parts: JobParts, row: Waiting, found: HeadResolution): Promise<void> {
  await failPoint('heads.read');
  const { admission } = parts;
  switch (found.kind) {
    case 'resolved':
      await admission.promoteRead(row, { signal: found.signal });
      return;
    case 'closed':
      await admission.promoteRead(row, { verdict: verdict('no-work', 'TARGET_CLOSED', found.detail) });
      return;
    case 'moved':
      await admission.promoteRead(row, { verdict: verdict('reject', 'STALE_INPUT', found.detail) });
      return;
    case 'unresolved':
      await admission.promoteRead(row, { verdict: verdict('reject', 'HEAD_UNRESOLVED', found.detail) });
      return;
    case 'unavailable':
      if (row.tries + 1 >= MOST_TRIES) {
        const detail = `${found.detail} It was tried ${row.tries + 1} times.`;
        await admission.promoteRead(row, { verdict: verdict('reject', 'HEAD_UNRESOLVED', detail) });
      } else {
        await putOff(parts, row);
      }
  }
}

const putOff = ({ context }: JobParts, row: Waiting): Promise<number> => {
  const delayMs = Math.min(FIRST_WAIT_MS * 2 ** row.tries, LONGEST_WAIT_MS);
  return context.database.service.use((c) => deferredSignals.postpone(c, [row.id], delayMs));
};

const verdict = (
  outcome: Verdict['outcome'],
  reasonCode: Verdict['reasonCode'],
  detail: string,
): Verdict => ({ outcome, reasonCode, detail, retryAfter: null, rule: 'head-resolution' });
