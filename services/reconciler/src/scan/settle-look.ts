/**
 * What a look found, and that it was found, in one transaction.
 *
 *   BEGIN ─► watermark locked (my claim, my version) ─► what is known already ─► admission ─► facts noted ─► watermark
 *   moved on ─► COMMIT
 *
 * Who may write: any number of reconcilers. A watermark is claimed by a token for a time; the look itself, which asks
 * the source, holds no lock and no transaction. Lock order (SQL rule 8): watermark (as a schedule), then what an
 * admission locks; nothing else locks a watermark and then anything.
 *  - Two reconcilers: the second finds the claim. One that was frozen beyond its claim finds another token or another
 *    version, and what it saw is thrown away: it might be older than what was dealt with since.
 *  - A hook that arrives while the look is under way: work is admitted once, by its key and version, under the task's
 *    lock. Whoever is second finds it admitted: here it is only noted, at the hook it is DUPLICATE_WORK.
 *  - Crash before COMMIT: no receipt, no run, no fact; the claim runs out, and the next look sees the same again. An
 *    etag is kept only with what its answer led to, so no 304 can hide what was never admitted.
 *  - Crash after COMMIT: everything stands; dispatch finds the runs.
 */
import type { Admission, Submission, Undertaken } from '@headgate/admission';
import type { ReasonCode, Signal } from '@headgate/domain';
import { type Change, judgeSignal, type Look } from '@headgate/sources';
import { type ActivePolicy, type Pool, sourceFacts, type WatermarkRow, watermarks } from '@headgate/store';
import { failPoint } from '@headgate/telemetry';
import { nothingFound } from './nothing-found.js';
import { sift } from './sift.js';
import { standingAfter } from './standing.js';
import type { ScanTarget } from './targets.js';

export type Looked = Extract<Look, { kind: 'looked' }>;

export interface SettleOptions {
  readonly pool: Pool;
  readonly admission: Admission;
  readonly active: ActivePolicy;
  readonly token: string;
}

export interface Settled {
  /** Signals that were submitted, by what became of them. */
  readonly reasonCodes: readonly ReasonCode[];
  /** Changes that a hook had brought before. */
  readonly brought: number;
  /** There is more than one transaction takes: look again at once. */
  readonly hasMore: boolean;
  /** What the hook should have brought. */
  readonly silent: number;
}

/** Of one transaction. */
const MOST_SIGNALS = 100;

/** Null: the claim was lost, and nothing was written. */
export async function settleLook(
  seen: WatermarkRow,
  look: Looked,
  target: ScanTarget,
  options: SettleOptions,
): Promise<Settled | null> {
  let undertaken: Undertaken | null = null;
  const settled = await options.pool.transaction(async (c) => {
    undertaken = null;
    const row = await watermarks.lock(c, seen, options.token);
    if (row === null) return null;
    const taken = firstOf(look.changes);
    const { wanted, brought } = await sift(c, taken.signals, target, options.active);
    const quiet = wanted.length === 0 && look.isWhole && !taken.hasMore;
    const submissions = [
      ...wanted.map((signal) => submissionOf(signal, target)),
      ...(quiet ? nothingFound(row, target) : []),
    ];
    undertaken = submissions.length === 0 ? null : await options.admission.within(c, submissions);
    await failPoint('scan.admitted');
    await sourceFacts.note(c, row, taken.changes);
    await sourceFacts.touch(c, row, look.standing);
    const codes = (undertaken?.answers ?? []).slice(0, wanted.length).map((answer) => answer.reasonCode);
    const { settledLook, silent } = standingAfter({ row, look, target, wanted, codes, brought, ...taken });
    await watermarks.settle(c, row, settledLook);
    return { reasonCodes: codes, brought, hasMore: taken.hasMore, silent };
  });
  committed(undertaken);
  return settled;
}

// Read through a function: the callback's assignment is not seen from here.
const committed = (undertaken: Undertaken | null): void => undertaken?.committed();

interface Taken {
  readonly changes: readonly Change[];
  readonly signals: readonly Signal[];
  readonly hasMore: boolean;
}

/** As many changes as one transaction takes; the others stay unseen, and come again. */
function firstOf(all: readonly Change[]): Taken {
  const changes: Change[] = [];
  let count = 0;
  for (const change of all) {
    if (count > 0 && count + change.signals.length > MOST_SIGNALS) break;
    changes.push(change);
    count += change.signals.length;
  }
  return {
    changes,
    signals: changes.flatMap(({ signals }) => signals),
    hasMore: changes.length < all.length,
  };
}

const submissionOf = (signal: Signal, { source }: ScanTarget): Submission => ({
  signal,
  tenant: source.tenant,
  payload: { mediaType: 'application/json', body: Buffer.from(JSON.stringify(signal.data), 'utf8') },
  verdict: judgeSignal(source, signal),
});
