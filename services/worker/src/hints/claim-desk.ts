/**
 * From "somebody says these runs were dispatched" to leases that this worker holds.
 *
 *   considered ─► read the rows ─► judge each, side by side ─► [those ready when a turn begins] ─► claim the fresh,
 *                                                                                write the verdicts on the others
 *
 * A hint is believed in nothing: what Postgres does not show as this dispatch of this queue counts as stale, so hints
 * may be lost, doubled, shuffled, ancient or invented. A slow source holds only its own run: those judged meanwhile
 * are claimed without it. No timer stands in front of an idle worker: a turn begins at once, and what is judged while it
 * runs goes with the next one, so that batches grow with the load.
 *
 * Who writes: this desk, verdicts under (run id, dispatch number) and claims under the worker's id, one claim
 * transaction at a time, with the free slots of that moment as its limit: so slots are never exceeded, however many
 * hints, polls and turns of its own run at once. What found no slot is hinted again, for whoever has one. Verdicts are
 * written after the claim, which knows whether the policy they were made under still stands. Lock order: the store's.
 * Crash points: before the claim's COMMIT nothing was taken (the item is hinted again after 5 s, taken back after
 * 30 s); after it the lease runs out and the reaper takes it.
 */
import {
  type Capabilities,
  type Clock,
  formatId,
  type Ids,
  type RunId,
  type RunSpec,
  type WorkerId,
} from '@headgate/domain';
import {
  type ActivePolicy,
  type ClaimedRun,
  type ClaimResult,
  claim,
  type DispatchedRun,
  dispatchedRuns,
  type Pool,
  type VerdictRow,
  writeVerdicts,
} from '@headgate/store';
import { failPoint, type Logger, metrics, testSignal } from '@headgate/telemetry';
import type { HintBus } from '@headgate/transport';
import { aboutRun } from '../about-run.js';
import type { WorkerTiming } from '../options.js';
import type { Registered } from '../registration.js';
import { countClaimed, countEmpty } from './claim-metrics.js';
import { type Judged, type JudgeParts, judgeRun } from './judge-run.js';

export interface ClaimDeskParts extends JudgeParts {
  readonly pool: Pool;
  readonly bus: Pick<HintBus, 'publish'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly timing: WorkerTiming;
  readonly capabilities: () => Capabilities;
  readonly policy: () => ActivePolicy;
  readonly refreshPolicy: () => Promise<unknown>;
  /** Null: not registered, or taking nothing more. */
  readonly self: () => Registered | null;
  readonly freeSlots: () => number;
  /** Of the leases it takes: what the keeper renews by. */
  readonly ttlMs: () => number;
  /** Takes the lease at once, before anything else happens on this thread. */
  readonly onClaimed: (runs: readonly ClaimedOrder[], askedAtMs: number, workerId: WorkerId) => void;
  /** The database says that this worker is not READY. */
  readonly onNotReady: () => void;
}

/** Its specification was read with the dispatch: it never changes, so the claim does not read it again. */
export type LeasedRun = ClaimedRun & { readonly spec: RunSpec };

export interface ClaimedOrder {
  readonly run: LeasedRun;
  /** Where the source stood at the verdict; null when it was not asked. */
  readonly headSha: string | null;
}

/** Somebody says that this dispatch lies in this queue. */
export interface Mention {
  readonly runId: RunId;
  readonly dispatchNo: number;
  readonly queue: string;
}

interface Waiting {
  readonly judged: Judged;
  /** Policy version that it was judged under. */
  readonly policyVersion: number;
  readonly settle: (isClaimed: boolean) => void;
}

/** What a claim was asked with. */
interface Asked {
  readonly fresh: readonly Judged[];
  readonly askedAtMs: number;
  /** Slots that were free. */
  readonly limit: number;
  readonly me: Registered;
}

const NOT_CLAIMED = 'the claim failed; dispatch hints again';

const nameOf = ({ runId, dispatchNo }: Omit<Mention, 'queue'>): string => `${runId}-${dispatchNo}`;

export class ClaimDesk {
  readonly #parts: ClaimDeskParts;
  /** Dispatches under consideration: a second mention of one adds nothing. */
  readonly #considered = new Set<string>();
  #waiting: Waiting[] = [];
  #isScheduled = false;
  #isTurning = false;
  #turns: Promise<void> = Promise.resolve();

  constructor(parts: ClaimDeskParts) {
    this.#parts = parts;
  }

  /** Considers what hints name. Returns how many runs were claimed; settles when each was claimed or left. */
  async consider(mentions: readonly Mention[]): Promise<number> {
    const { pool, self } = this.#parts;
    const me = self();
    if (me === null) return 0;
    const rows = await pool.use((c) => dispatchedRuns.named(c, mentions, me.queueIds));
    const stale = mentions.length - rows.length;
    if (stale > 0) metrics.hintConsumed.add(stale, { result: 'stale' });
    if (rows.length === 0) {
      for (const queue of new Set(mentions.map((mention) => mention.queue))) {
        metrics.claimEmpty.add(1, { queue_name: queue });
      }
      testSignal('worker.hints.stale', { runIds: mentions.map((mention) => mention.runId) });
    }
    const claimed = (await this.decide(rows)).size;
    if (claimed > 0) metrics.hintConsumed.add(claimed, { result: 'claimed' });
    return claimed;
  }

  /** Judges and claims rows that were read just now. Returns the claimed; settles when each was claimed or left. */
  async decide(rows: readonly DispatchedRun[]): Promise<ReadonlySet<RunId>> {
    const mine = rows.filter((row) => {
      const isNew = !this.#considered.has(nameOf(row));
      this.#considered.add(nameOf(row));
      return isNew;
    });
    const claimed = new Set<RunId>();
    await Promise.all(
      mine.map(async (row) => {
        try {
          if (await this.#decideOne(row)) claimed.add(row.runId);
        } finally {
          this.#considered.delete(nameOf(row));
        }
      }),
    );
    return claimed;
  }

  /** Dispatches under consideration: each may take a slot. */
  get deciding(): number {
    return this.#considered.size;
  }

  /** Settles when no claim is under way. */
  idle(): Promise<void> {
    return this.#turns;
  }

  async #decideOne(run: DispatchedRun): Promise<boolean> {
    const me = this.#parts.self();
    if (me === null) return false;
    const active = this.#parts.policy();
    const about = { workerId: me.workerId, capabilities: this.#parts.capabilities() };
    const judged = await judgeRun(this.#parts, run, active, about).catch((fault: unknown) => {
      this.#sayFailed([{ run }], me, fault, 'it could not be judged; dispatch hints again');
    });
    if (judged === undefined || judged.verdict === null) return false;
    return new Promise<boolean>((settle) => {
      this.#waiting.push({ judged, policyVersion: active.version, settle });
      this.#schedule();
    });
  }

  /** After this turn of the event loop, so that what was judged together goes together. */
  #schedule(): void {
    if (this.#isScheduled || this.#isTurning) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#turns = this.#turnUntilEmpty();
    });
  }

  async #turnUntilEmpty(): Promise<void> {
    this.#isTurning = true;
    while (this.#waiting.length > 0) await this.#turn(this.#waiting.splice(0));
    this.#isTurning = false;
  }

  async #turn(batch: readonly Waiting[]): Promise<void> {
    const claimed = new Set<RunId>();
    try {
      for (const runId of await this.#claim(batch)) claimed.add(runId);
    } catch (fault) {
      const judged = batch.map((waiting) => waiting.judged);
      this.#sayFailed(judged, this.#parts.self(), fault, NOT_CLAIMED);
    }
    for (const { judged, settle } of batch) settle(claimed.has(judged.run.runId));
  }

  /** Of runs that are not claimed: there is no attempt yet. A claim whose answer was lost may have left its lease. */
  #sayFailed(
    unclaimed: readonly Pick<Judged, 'run'>[],
    me: Registered | null,
    fault: unknown,
    what: string,
    hinted: readonly Pick<ClaimedRun, 'runId' | 'leaseId'>[] = [],
  ): void {
    const leases = new Map(hinted.map(({ runId, leaseId }) => [runId, { leaseId }]));
    const workerId = me?.workerId ?? null;
    for (const { run } of unclaimed) {
      const about = aboutRun(this.#parts.logger, run, { workerId, ...leases.get(run.runId) });
      about.warn({ err: fault, together: unclaimed.length }, what);
    }
  }

  async #claim(batch: readonly Waiting[]): Promise<readonly RunId[]> {
    const judged = batch.map((waiting) => waiting.judged);
    // Judged before a turn that found another policy: judged again, or its verdict would be the old policy's.
    const isOld = batch.some(({ policyVersion }) => policyVersion !== this.#parts.policy().version);
    const first = await this.#claimOnce(isOld ? await this.#judgeAgain(judged) : judged);
    if (first !== 'policy-changed') return first;
    await this.#parts.refreshPolicy();
    const second = await this.#claimOnce(await this.#judgeAgain(judged));
    return second === 'policy-changed' ? [] : second;
  }

  async #judgeAgain(judged: readonly Judged[]): Promise<readonly Judged[]> {
    const me = this.#parts.self();
    if (me === null) return [];
    const self = { workerId: me.workerId, capabilities: this.#parts.capabilities() };
    return Promise.all(judged.map(({ run }) => judgeRun(this.#parts, run, this.#parts.policy(), self)));
  }

  async #claimOnce(judged: readonly Judged[]): Promise<readonly RunId[] | 'policy-changed'> {
    const me = this.#parts.self();
    if (me === null) return [];
    await failPoint('worker.claim.before');
    const fresh = judged.filter(({ verdict }) => verdict?.kind === 'fresh');
    const claimed = await this.#claimFresh(fresh, me);
    if (claimed === 'policy-changed') return claimed;
    const refused = judged.filter(({ verdict }) => verdict?.kind !== 'fresh');
    try {
      await this.#writeVerdicts(refused, `worker:${formatId('wkr', me.workerId)}`);
    } catch (fault) {
      this.#sayFailed(refused, me, fault, 'its verdict could not be written; dispatch hints again');
    }
    return claimed;
  }

  async #claimFresh(fresh: readonly Judged[], me: Registered): Promise<readonly RunId[] | 'policy-changed'> {
    const { pool, policy, freeSlots, ttlMs, ids, timing, clock } = this.#parts;
    const limit = freeSlots();
    if (fresh.length > 0 && limit <= 0) await this.#hintAgain(fresh, me);
    if (fresh.length === 0 || limit <= 0) return [];
    const askedAtMs = clock.monotonicMs();
    const hinted = fresh.map(({ run: { runId, dispatchNo }, atMs }) => ({
      runId,
      dispatchNo,
      attemptId: ids.next('att'),
      leaseId: ids.next('lease'),
      judgedAgoMs: askedAtMs - atMs,
    }));
    const request = {
      workerId: me.workerId,
      queueIds: me.queueIds,
      ttlMs: ttlMs(),
      policyVersion: policy().version,
      hinted,
      limit,
      verdictMaxAgeMs: timing.verdictMaxAgeMs,
    };
    const result = await claim(pool, request).catch((fault: unknown) => {
      this.#sayFailed(fresh, me, fault, NOT_CLAIMED, hinted);
    });
    if (result === undefined) return [];
    metrics.claimDuration.record((clock.monotonicMs() - askedAtMs) / 1000);
    switch (result.kind) {
      case 'policy-changed':
        testSignal('worker.claim.policyChanged', { head: result.head });
        return 'policy-changed';
      case 'not-ready':
        this.#parts.onNotReady();
        return [];
      case 'claimed':
        await this.#begin(result, { fresh, askedAtMs, limit, me });
        return result.runs.map((run) => run.runId);
    }
  }

  /** They are claimed, whatever fails from here on. */
  async #begin(
    { runs, busy }: Extract<ClaimResult, { kind: 'claimed' }>,
    { fresh, askedAtMs, limit, me }: Asked,
  ): Promise<void> {
    const judged = new Map(fresh.map((one) => [one.run.runId, one]));
    const orders = runs.flatMap((run): ClaimedOrder[] => {
      const one = judged.get(run.runId);
      return one === undefined ? [] : [{ run: { ...run, spec: one.run.spec }, headSha: one.headSha }];
    });
    this.#parts.onClaimed(orders, askedAtMs, me.workerId);
    countClaimed(runs);
    if (runs.length === 0) countEmpty(fresh, me);
    try {
      await failPoint('worker.claim.committed');
      const claimed = runs.map((run) => run.runId);
      testSignal('worker.claimed', { runIds: claimed, busy });
      if (claimed.length === limit) await this.#hintAgain(without(fresh, [...claimed, ...busy]), me);
    } catch (fault) {
      for (const { run } of orders) {
        const about = aboutRun(this.#parts.logger, run, { ...run, workerId: me.workerId });
        about.warn(
          { err: fault },
          'claimed; what follows a claim failed, and dispatch hints the others again',
        );
      }
    }
  }

  /** Their hint is spent and no slot was free: others may have one, and dispatch itself would say it again in 5 s only. */
  async #hintAgain(unclaimed: readonly Judged[], me: Registered): Promise<void> {
    const hints = unclaimed.flatMap(({ run: { runId, dispatchNo, queueId, traceparent } }) => {
      const queue = me.queues[me.queueIds.indexOf(queueId)];
      return queue === undefined ? [] : [{ queue, runId, dispatchNo, traceparent }];
    });
    if (hints.length > 0) await this.#parts.bus.publish(hints);
  }

  async #writeVerdicts(refused: readonly Judged[], actor: string): Promise<void> {
    const rows = refused.flatMap(({ run: { runId, dispatchNo }, verdict }): VerdictRow[] =>
      verdict === null || verdict.kind === 'fresh' ? [] : [{ runId, dispatchNo, verdict }],
    );
    if (rows.length === 0) return;
    await writeVerdicts(this.#parts.pool, rows, actor);
    testSignal('worker.verdicts', {
      verdicts: rows.map(({ runId, verdict: { kind, reasonCode } }) => ({ runId, kind, reasonCode })),
    });
  }
}

const without = (judged: readonly Judged[], runIds: readonly RunId[]): readonly Judged[] => {
  const left = new Set(runIds);
  return judged.filter(({ run }) => !left.has(run.runId));
};
