/**
 * Refused requests, answered where they were asked, once (INV-EF1, INV-EF2).
 *
 *   claim ─► [a call may have gone out: look] ─► attempted (row) ─► write ─► confirmed
 *
 * Who may write: the reconciler that holds the row's claim, by token and time; the claim is checked once more in the
 * statement that says `attempted`, right before the call. Lock order: the row alone. Crash points:
 *  - after the claim: it runs out, and nothing was sent;
 *  - after `attempted`, before or after the call: the next claimant comes no earlier than the settle window, and looks
 *    at all comments before it would write;
 *  - a call without a clear answer: the same, without the crash.
 * A refusal by the forge ends it: nobody is told, and the row says why.
 */
import { hasCredentials } from '@headgate/sources';
import { type ClaimedFeedback, type Connection, feedback } from '@headgate/store';
import { failPoint, metrics, testSignal } from '@headgate/telemetry';
import { evidenceOf, lookFor, type Place, write } from '../feedback/forge.js';
import type { Job, JobParts } from '../job.js';

/** Longer than one look through all pages and one call. */
const CLAIM_MS = 5 * 60_000;
const MOST_TRIES = 5;
const WAIT_MS = 30_000;

export const untoldFeedback: Job = {
  name: 'untold-feedback',
  repairs: 'A person asked for something, it was refused, and nobody has told them yet.',
  reasonCodes: [],
  period: 'read',
  limit: 10,
  make: (parts) => async () => {
    const { context, limit } = parts;
    const claimed = await context.database.service.use((c) => feedback.claim(c, limit, CLAIM_MS));
    for (const row of claimed) {
      try {
        await tell(parts, row);
      } catch (fault) {
        // The claim runs out by itself.
        parts.report.refused(fault, { receipt: row.receiptId });
      }
    }
    return claimed.length >= limit ? 'busy' : 'idle';
  },
};

async function tell(parts: JobParts, row: ClaimedFeedback): Promise<void> {
  const { context, github } = parts;
  const source = context.policy.current().policy.sources.find((one) => one.id === row.source);
  if (source === undefined || !hasCredentials(source)) {
    const detail = `The source ${row.source} has no App or token to answer with.`;
    await note(parts, 'abandoned', (c) => feedback.abandon(c, row, detail));
    return;
  }
  const place: Place = { github, source, row };
  if (row.wasAttempted && !(await isToBeWritten(parts, place))) return;
  if (row.tries >= MOST_TRIES) {
    await note(parts, 'abandoned', (c) => feedback.abandon(c, row, `It was tried ${row.tries} times.`));
    return;
  }
  const pool = context.database.service;
  if (!(await pool.use((c) => feedback.attempt(c, row, parts.timing.settleMs)))) return;
  await failPoint('feedback.attempted');
  await settle(parts, row, await write(place));
}

/** Looks first. True: it is not there. */
async function isToBeWritten(parts: JobParts, place: Place): Promise<boolean> {
  const { row } = place;
  const seen = await lookFor(place);
  switch (seen.kind) {
    case 'there':
      await note(parts, 'confirmed', (c) => feedback.confirm(c, row, seen.evidence));
      testSignal('feedback.confirmed', { receiptId: row.receiptId });
      return false;
    case 'unknown':
      await note(parts, 'ambiguous', (c) => feedback.doubt(c, row, seen.detail, WAIT_MS));
      return false;
    case 'not-there':
      return true;
  }
}

async function settle(
  parts: JobParts,
  row: ClaimedFeedback,
  answer: Awaited<ReturnType<typeof write>>,
): Promise<void> {
  const { context, timing } = parts;
  await failPoint('feedback.called');
  switch (answer.kind) {
    case 'found':
      await note(parts, 'confirmed', (c) => feedback.confirm(c, row, evidenceOf(answer.value)));
      testSignal('feedback.confirmed', { receiptId: row.receiptId });
      return;
    case 'limited': {
      const waitMs = Math.max(WAIT_MS, answer.until.getTime() - context.clock.now().getTime());
      await note(parts, 'ambiguous', (c) => feedback.doubt(c, row, answer.detail, waitMs));
      return;
    }
    case 'absent':
    case 'empty':
    case 'denied':
      await note(parts, 'abandoned', (c) => feedback.abandon(c, row, answer.detail));
      return;
    case 'unchanged':
    case 'unavailable': {
      const detail = answer.kind === 'unavailable' ? answer.detail : 'an answer without a body';
      await note(parts, 'ambiguous', (c) => feedback.doubt(c, row, detail, timing.settleMs));
    }
  }
}

/** The row says what became of it; a claim that was lost has been counted by who took it. */
async function note(
  { context }: JobParts,
  state: 'confirmed' | 'ambiguous' | 'abandoned',
  written: (c: Connection) => Promise<number>,
): Promise<void> {
  const changed = await context.database.service.use(written);
  if (changed > 0) metrics.feedback.add(1, { state });
}
