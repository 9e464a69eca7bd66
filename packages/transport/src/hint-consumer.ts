/**
 * Takes hints while there is room for them, and hands them over in small batches.
 *
 *     queue a ──► lane ─┐                       ┌─► onHints(batch)   (the claim decides)
 *     queue b ──► lane ─┼─► collected           ─┤
 *     queue c ──► lane ─┘                       └─► the BullMQ jobs are finished
 *
 * One lane per queue is one loop: wait for room, take one hint (a blocking read) and hand it over, then as many as wait
 * there and fit, twice as many per round trip while they keep coming. What was collected of those is handed over as soon as
 * no lane has more to fetch, or after 2 ms: a hint that comes alone waits for nothing. Room is `wanted()` minus what was
 * collected, handed over and not settled, or is being fetched, over all lanes. Lanes that block at the same time may meet
 * more hints than there is room: what does not fit goes back to the head of its queue, and the lane waits for room again.
 *
 * Everything runs on one event loop and every count is changed between awaits, so no locks. States move
 * running <-> paused -> closing -> closed, through `#become` only.
 *
 * What a crash leaves:
 * - after taking, before handing over, or handed over and not finished: an active job, which comes again in 5 to
 *   10 s (`hint-source.ts`) unless its dispatch was taken back before that;
 * - finished and not claimed: nothing in Redis; dispatch sends again.
 * Either way the claim sees a duplicate or polling finds the run. Nothing here is needed for a result.
 */
import { setTimeout as delay, setImmediate as turnOfTheLoop } from 'node:timers/promises';
import type { Clock } from '@headgate/domain';
import type { Logger } from '@headgate/telemetry';
import { testSignal } from '@headgate/telemetry';
import { decodeHint, type ReceivedHint } from './hint.js';
import type { ConsumeOptions, Consumer, HintObserver } from './hint-bus.js';
import type { FetchedHint, HintSupply } from './hint-source.js';
import { Nudge } from './nudge.js';
import { traceReceive } from './tracing.js';
import { asError, within } from './within.js';

const COLLECT_MS = 2;
/** How often a full consumer asks `wanted()` again when nobody calls `slotsChanged`. */
const RECHECK_MS = 250;
/** A job is over with its hand-over, and finished a moment later: to tell BullMQ takes as long as to begin what it asks for. */
const FINISHED_WITHIN_MS = 5;
const MAX_PER_ROUND_TRIP = 32;
const BACKOFF_MS = { first: 50, most: 1000 };
/** A source that fails so often in a row is made anew: its connection may have been given up for good. */
const REBUILD_AFTER_FAILURES = 5;

type State = 'running' | 'paused' | 'closing' | 'closed';
const LEGAL: Readonly<Record<State, readonly State[]>> = {
  running: ['paused', 'closing'],
  paused: ['running', 'closing'],
  closing: ['closed'],
  closed: [],
};

interface Collected {
  readonly fetched: FetchedHint;
  readonly hint: ReceivedHint;
}

interface Lane {
  readonly queueKey: string;
  source: HintSupply;
  /** When Redis last answered its fetch (monotonic). */
  lastTurnMs: number;
  /** Waiting for room: nothing is asked of Redis. */
  isParked: boolean;
}

export interface ConsumerParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observe: HintObserver;
  readonly openSource: (queueKey: string) => HintSupply;
  /** Cuts what the sources share. */
  readonly disconnect: () => void;
  readonly onHint: () => void;
}

export class HintConsumer implements Consumer {
  #state: State = 'running';
  #collected: Collected[] = [];
  #collecting: NodeJS.Timeout | null = null;
  #handedOver = 0;
  #fetching = 0;
  readonly #nudge = new Nudge();
  readonly #handling = new Set<Promise<void>>();
  readonly #lanes: readonly Lane[];
  readonly #loops: Promise<unknown>;
  #closing: Promise<{ readonly clean: boolean }> | null = null;

  constructor(
    private readonly parts: ConsumerParts,
    private readonly options: ConsumeOptions,
  ) {
    this.#lanes = [...new Set(options.queues)].map((queueKey) => ({
      queueKey,
      source: parts.openSource(queueKey),
      lastTurnMs: parts.clock.monotonicMs(),
      isParked: false,
    }));
    this.#loops = Promise.all(this.#lanes.map((lane) => this.#run(lane)));
  }

  pause(): void {
    if (this.#state === 'running') this.#become('paused');
  }

  resume(): void {
    if (this.#state === 'paused') this.#become('running');
    this.#nudge.now();
  }

  slotsChanged(): void {
    this.#nudge.now();
  }

  close(options: { readonly graceMs: number }): Promise<{ readonly clean: boolean }> {
    this.#closing ??= this.#close(options.graceMs);
    return this.#closing;
  }

  /** Queues whose loop asked Redis and has had no answer for longer than `limitMs`. */
  silentQueues(limitMs: number): readonly string[] {
    if (this.#isEnding()) return [];
    const nowMs = this.parts.clock.monotonicMs();
    return this.#lanes
      .filter((lane) => !lane.isParked && nowMs - lane.lastTurnMs > limitMs)
      .map((lane) => lane.queueKey);
  }

  async #run(lane: Lane): Promise<void> {
    let failures = 0;
    while (await this.#hasRoom(lane)) {
      try {
        const first = await lane.source.next();
        lane.lastTurnMs = this.parts.clock.monotonicMs();
        failures = 0;
        if (first !== null) {
          this.#take(lane, first);
          if (this.options.collectMs === undefined) this.#handOver();
          await turnOfTheLoop();
          await this.#takeWaiting(lane);
        }
      } catch (error) {
        if (this.#isEnding()) break;
        failures += 1;
        this.parts.logger.warn({ err: error, queue: lane.queueKey, failures }, 'Could not fetch a hint');
        if (failures % REBUILD_AFTER_FAILURES === 0) await this.#rebuild(lane);
        await this.#nudge.wait(Math.min(BACKOFF_MS.first * 2 ** failures, BACKOFF_MS.most));
      }
    }
  }

  /** Takes what waits in the queue now, as far as it fits. */
  async #takeWaiting(lane: Lane): Promise<void> {
    let burst = 2;
    while (this.#isOpen()) {
      const count = Math.min(burst, this.#room());
      if (count <= 0) return;
      this.#fetching += count;
      let fetched: readonly FetchedHint[];
      try {
        fetched = await lane.source.more(count);
        lane.lastTurnMs = this.parts.clock.monotonicMs();
      } finally {
        this.#fetching -= count;
        // Another lane may have parked on what was only reserved.
        this.#nudge.now();
      }
      for (const hint of fetched) this.#take(lane, hint);
      if (fetched.length < count) {
        if (this.#fetching === 0 && this.options.collectMs === undefined) this.#handOver();
        return;
      }
      burst = Math.min(burst * 2, MAX_PER_ROUND_TRIP);
    }
  }

  #take(lane: Lane, fetched: FetchedHint): void {
    const decoded = decodeHint(lane.queueKey, fetched.content, this.parts.clock.now().getTime());
    if (decoded.kind === 'dropped') {
      const { reason } = decoded;
      this.parts.logger.warn(
        { queue: lane.queueKey, jobId: fetched.jobId, reason },
        'Dropped what is not a hint',
      );
      this.parts.observe({ kind: 'dropped', queue: lane.queueKey, reason, jobId: fetched.jobId });
      fetched.finish();
      return;
    }
    if (!this.#isOpen() || this.#room() <= 0) {
      fetched.giveBack();
      this.parts.observe({ kind: 'given-back', queue: lane.queueKey, count: 1 });
      return;
    }
    this.#collected.push({ fetched, hint: decoded.hint });
    if (this.#room() <= 0) this.#handOver();
    else this.#collecting ??= setTimeout(() => this.#handOver(), this.options.collectMs ?? COLLECT_MS);
  }

  #handOver(): void {
    const batch = this.#takeCollected();
    if (batch.length === 0) return;
    const hints = batch.map((collected) => collected.hint);
    const jobIds = batch.map((collected) => collected.fetched.jobId);
    this.#handedOver += batch.length;
    this.parts.onHint();
    for (const [queue, count] of countByQueue(hints)) this.parts.observe({ kind: 'received', queue, count });
    testSignal('transport.hints.received', { jobIds });

    const handling = traceReceive(hints, jobIds, () => this.options.onHints(hints))
      .catch((error: unknown) => {
        this.parts.logger.error({ err: error, jobIds }, 'Hints were not taken; dispatch sends them again');
      })
      .finally(() => {
        this.#handedOver -= batch.length;
        this.#nudge.now();
      });
    // What the hints start goes first, and nobody waits for their end.
    const finishing = Promise.race([handling, delay(FINISHED_WITHIN_MS)]).then(() => {
      for (const { fetched } of batch) fetched.finish();
    });
    const both = Promise.all([handling, finishing]).then(() => void this.#handling.delete(both));
    this.#handling.add(both);
  }

  #takeCollected(): readonly Collected[] {
    if (this.#collecting !== null) clearTimeout(this.#collecting);
    this.#collecting = null;
    const batch = this.#collected;
    this.#collected = [];
    return batch;
  }

  /** Waits until the lane may take a hint; false when the consumer ends. */
  async #hasRoom(lane: Lane): Promise<boolean> {
    while (!this.#isEnding()) {
      if (this.#isOpen() && this.#room() > 0) {
        if (lane.isParked) lane.lastTurnMs = this.parts.clock.monotonicMs();
        lane.isParked = false;
        return true;
      }
      lane.isParked = true;
      await this.#nudge.wait(RECHECK_MS);
    }
    return false;
  }

  #room(): number {
    return this.#wanted() - this.#collected.length - this.#handedOver - this.#fetching;
  }

  #wanted(): number {
    try {
      const wanted = Math.floor(this.options.wanted());
      return Number.isFinite(wanted) ? Math.max(0, wanted) : 0;
    } catch (error) {
      this.parts.logger.error({ err: error }, 'wanted() failed; no hint is taken');
      return 0;
    }
  }

  async #rebuild(lane: Lane): Promise<void> {
    const old = lane.source;
    lane.source = this.parts.openSource(lane.queueKey);
    await old.close();
  }

  async #close(graceMs: number): Promise<{ readonly clean: boolean }> {
    this.#become('closing');
    for (const { fetched } of this.#takeCollected()) fetched.giveBack();
    this.#nudge.now();
    for (const lane of this.#lanes) lane.source.interrupt();
    const quiet = (async () => {
      await this.#loops;
      await Promise.all(this.#handling);
      await Promise.all(this.#lanes.map((lane) => lane.source.settled()));
    })();
    const settled = await within(graceMs, quiet);
    await Promise.all(this.#lanes.map((lane) => lane.source.close()));
    this.parts.disconnect();
    this.#become('closed');
    if (settled.kind === 'error') {
      this.parts.logger.error({ err: asError(settled.error) }, 'The hint consumer ended with an error');
    }
    return { clean: settled.kind === 'value' };
  }

  #isOpen(): boolean {
    return this.#state === 'running';
  }

  #isEnding(): boolean {
    return this.#state === 'closing' || this.#state === 'closed';
  }

  #become(next: State): void {
    if (!LEGAL[this.#state].includes(next))
      throw new Error(`A ${this.#state} consumer cannot become ${next}.`);
    this.#state = next;
  }
}

function countByQueue(hints: readonly ReceivedHint[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const hint of hints) counts.set(hint.queue, (counts.get(hint.queue) ?? 0) + 1);
  return counts;
}
