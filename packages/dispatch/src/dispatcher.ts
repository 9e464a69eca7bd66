/**
 * The dispatcher: turns, upkeep, hints. Used by the scheduler's loop and by intake after its commit, so that an idle
 * system starts work without a hop.
 *
 *   note(ready) ─► turn: lock · count · choose · mark · COMMIT ─► publish hints (best effort)
 *   upkeep: promote due · expire overdue · hint again after 5 s · take back after 30 s
 *
 * Any number may run; see store/transactions/dispatch for the locks. A crash between COMMIT and publish leaves
 * dispatched items without a hint: upkeep of any dispatcher hints again. Publishing never throws and never holds the
 * lock: Redis being away costs latency only, since workers poll.
 */
import type { RunId } from '@headgate/domain';
import {
  type ActivePolicy,
  type Dimensions,
  type DispatchedItem,
  type DispatchSnapshot,
  dispatch,
  expireOverdue,
  type Pool,
  promoteDue,
  type ReadyHead,
  type ReadyPair,
  readyPairs,
  takeBackUnclaimed,
  unansweredHints,
} from '@headgate/store';
import { failPoint, type Logger, metrics, record, testSignal } from '@headgate/telemetry';
import type { HintBus } from '@headgate/transport';
import { choose, offeredBy } from './choose.js';
import { countDenied } from './denied.js';
import { headsPerPair } from './heads-per-pair.js';
import { nameOf, ReadyTenants } from './ready-tenants.js';

export interface DispatchTiming {
  readonly hintAgainAfterMs: number;
  readonly takeBackAfterMs: number;
}
export const DISPATCH_TIMING: DispatchTiming = { hintAgainAfterMs: 5_000, takeBackAfterMs: 30_000 };

/** Pairs asked in one turn. */
const PAIRS_PER_TURN = 200;
const UPKEEP_LIMIT = 500;

export interface DispatcherOptions {
  readonly pool: Pool;
  readonly bus: HintBus;
  readonly dimensions: Dimensions;
  readonly logger: Logger;
  readonly policy: () => ActivePolicy;
  readonly actor: string;
  /** The head is another version than `policy()` says: refresh it. */
  readonly onPolicyMoved?: () => void;
  readonly timing?: DispatchTiming;
}

export interface UpkeepResult {
  readonly promoted: number;
  readonly expired: number;
  readonly takenBack: number;
  readonly hintedAgain: number;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #timing: DispatchTiming;
  readonly #ready = new ReadyTenants();
  readonly #queueKeys = new Map<number, string>();
  #leavesSome = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#timing = options.timing ?? DISPATCH_TIMING;
  }

  /** Something became ready, by queue name of the configuration: perhaps one that this process has not read yet. */
  async noteReady(items: readonly { readonly tenantId: number; readonly queue: string }[]): Promise<void> {
    const { dimensions } = this.#options;
    await dimensions.ensure(items.map(({ queue }) => ({ tenantId: 0, kind: 'queue' as const, key: queue })));
    this.#ready.note(
      items.map((item) => ({
        tenantId: item.tenantId,
        queueId: dimensions.id({ tenantId: 0, kind: 'queue', key: item.queue }),
      })),
    );
  }

  /** The slow full scan: what wake-ups missed. */
  async scan(): Promise<number> {
    await this.#learnQueues();
    const before = this.#ready.notes();
    this.#ready.replace(await this.#options.pool.use((c) => readyPairs(c)), before);
    return this.#ready.size;
  }

  /** Whether any pair is believed to have something ready. */
  get hasReady(): boolean {
    return this.#ready.size > 0;
  }

  /** Whether the last turn met only blocked heads somewhere: the next one reads on behind them. */
  get readsOn(): boolean {
    return this.#ready.readsOn;
  }

  /**
   * Whether something may be ready that the last turn left: it was turned away, had no slot, met what is blocked, or did not
   * see the end of it.
   */
  get leavesSome(): boolean {
    return this.#leavesSome;
  }

  /**
   * One turn. Returns how many runs were dispatched.
   * @param options.wait false: give up at once if another dispatcher holds the lock.
   */
  async turn(options: { readonly wait: boolean }): Promise<number> {
    this.#leavesSome = this.#ready.size > 0;
    if (!this.#leavesSome) return 0;
    await this.#learnQueues();
    const active = this.#options.policy();
    const noted = this.#ready.next(PAIRS_PER_TURN);
    const startedAt = performance.now();
    const outcome = await dispatch(this.#options.pool, {
      pairs: noted,
      // Where no slot is free nothing is read, and nothing is learnt: a full system costs its dispatcher one count.
      read: (asked, counted) => {
        const capacity = offeredBy(counted);
        const freeIn = (pair: ReadyPair): number => capacity.get(pair.queueId)?.freeSlots ?? 0;
        const pairs = asked.filter((pair) => freeIn(pair) > 0);
        return { pairs, headsPerPair: headsPerPair(pairs.length, Math.max(0, ...pairs.map(freeIn))) };
      },
      wait: options.wait,
      choose: (snapshot) => {
        // Under another head than ours the limits may have been lowered: read it first, then choose.
        if (snapshot.policyVersion !== active.version) {
          this.#options.onPolicyMoved?.();
          return [];
        }
        const selection = choose(snapshot, active);
        const isAllSeen = snapshot.reading.pairs.length === this.#ready.size;
        this.#leavesSome = !this.#learn(snapshot, selection.chosen) || !isAllSeen;
        for (const skipped of selection.skipped) countDenied(skipped.reasonCode);
        return selection.chosen.map((candidate) => candidate.runId);
      },
    });
    if (outcome.kind !== 'dispatched' || outcome.items.length === 0) return 0;
    metrics.dispatchDuration.record((performance.now() - startedAt) / 1000);
    metrics.dispatchBatchSize.record(outcome.items.length);
    record({
      type: 'ok',
      op: 'dispatch',
      result: outcome.items.map((item) => [item.runId, item.dispatchNo]),
    });
    await failPoint('dispatch.committed');
    await this.publish(outcome.items);
    return outcome.items.length;
  }

  /** Sends hints, best effort. */
  async publish(items: readonly DispatchedItem[]): Promise<void> {
    await this.#learnQueues();
    const hints = items.flatMap((item) => {
      const queue = this.#queueKeys.get(item.queueId);
      return queue === undefined
        ? []
        : [{ queue, runId: item.runId, dispatchNo: item.dispatchNo, traceparent: item.traceparent }];
    });
    const published = await this.#options.bus.publish(hints);
    await failPoint('dispatch.published');
    testSignal('dispatch.published', { runIds: hints.map((hint) => hint.runId), ...published });
  }

  /** What time alone brings about. Bounded per call. */
  async upkeep(): Promise<UpkeepResult> {
    const { pool, actor } = this.#options;
    const bounds = { ...this.#timing, limit: UPKEEP_LIMIT, actor };
    const promoted = await promoteDue(pool, UPKEEP_LIMIT, actor);
    const expired = await expireOverdue(pool, UPKEEP_LIMIT, actor);
    const takenBack = await takeBackUnclaimed(pool, bounds);
    const unanswered = await unansweredHints(pool, bounds);
    this.#ready.note(promoted);
    if (unanswered.length > 0) {
      metrics.hintPublished.add(unanswered.length, { result: 'resent' });
      await this.publish(unanswered);
    }
    if (takenBack.length > 0) await this.scan();
    return {
      promoted: promoted.length,
      expired: expired.length,
      takenBack: takenBack.length,
      hintedAgain: unanswered.length,
    };
  }

  /** Returns whether all that was ready in the pairs read was seen, and chosen. */
  #learn(
    { reading, heads, held }: Pick<DispatchSnapshot, 'reading' | 'heads' | 'held'>,
    chosen: readonly { runId: RunId }[],
  ): boolean {
    const { pairs, headsPerPair: most } = reading;
    const taken = new Set(chosen.map((candidate) => candidate.runId));
    const keysAreHeld = held.some((row) => row.concurrencyKey !== null);
    const byPair = new Map<string, ReadyHead[]>(pairs.map((pair) => [nameOf(pair), []]));
    for (const head of heads) byPair.get(nameOf(head))?.push(head);
    let isAll = !keysAreHeld;
    for (const pair of pairs) {
      const mine = byPair.get(nameOf(pair)) ?? [];
      const found = {
        heads: mine.length,
        isFull: mine.length >= most || mine.at(-1)?.isEndOfRead === true,
        chosen: mine.filter((head) => taken.has(head.runId)).length,
        last: mine.at(-1) ?? null,
        // Items of a full key are not read at all: no head does not mean no item.
        mayHide: keysAreHeld,
      };
      this.#ready.learn(pair, found);
      isAll &&= !found.isFull && found.chosen === found.heads;
    }
    return isAll;
  }

  async #learnQueues(): Promise<void> {
    const { dimensions, policy } = this.#options;
    const keys = policy().policy.queues.map((queue) => queue.id);
    await dimensions.ensure(keys.map((key) => ({ tenantId: 0, kind: 'queue' as const, key })));
    for (const key of keys) this.#queueKeys.set(dimensions.id({ tenantId: 0, kind: 'queue', key }), key);
  }
}
