/**
 * Where work comes from: hints while there is room, and the database itself.
 *
 * Polling finds what hints did not bring: each second while hints are unhealthy or absent, and every fifteen as a
 * belt, for items that have waited longer than a second hint would take. Both ways end at the claim desk; nothing
 * here writes. A crash leaves at most an active hint job, which comes again.
 */

import type { Clock } from '@headgate/domain';
import { Loop, type TickResult } from '@headgate/service';
import { dispatchedRuns, type Pool } from '@headgate/store';
import { failPoint, HISTORY_OPS, type Logger, metrics, record, testSignal } from '@headgate/telemetry';
import type { Consumer, HintBus, ReceivedHint } from '@headgate/transport';
import type { WorkerTiming } from '../options.js';
import type { Registered } from '../registration.js';
import type { ClaimDesk } from './claim-desk.js';

export interface IntakeParts {
  readonly bus: HintBus;
  readonly pool: Pool;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timing: WorkerTiming;
  readonly desk: ClaimDesk;
  readonly self: () => Registered | null;
  readonly freeSlots: () => number;
  /** Free slots that are being filled without a hint. */
  readonly spokenFor: () => number;
}

export class IntakeOfHints {
  readonly #parts: IntakeParts;
  readonly #loop: Loop;
  #consumer: { readonly consumer: Consumer; readonly queues: readonly string[] } | null = null;
  #lastBeltMs = Number.NEGATIVE_INFINITY;
  #unsubscribe: (() => void) | null = null;
  #isOpen = false;

  constructor(parts: IntakeParts) {
    this.#parts = parts;
    this.#loop = new Loop({
      name: 'worker.poll',
      periodMs: parts.timing.pollMs,
      logger: parts.logger,
      tick: () => this.#poll(),
      onFailure: () => metrics.jobFailures.add(1, { job: 'worker.poll' }),
    });
  }

  /** Begins, or goes on with the queues that are joined now. */
  open(): void {
    const { bus, self } = this.#parts;
    const queues = self()?.queues ?? [];
    this.#isOpen = true;
    this.#loop.start();
    this.#unsubscribe ??= bus.onHealthChange(() => this.#loop.wake());
    if (this.#consumer !== null && sameQueues(this.#consumer.queues, queues)) return;
    void this.#consumer?.consumer.close({ graceMs: 1_000 });
    this.#consumer = {
      queues,
      consumer: bus.consume({
        queues,
        wanted: () =>
          this.#isOpen && self() !== null ? this.#parts.freeSlots() - this.#parts.spokenFor() : 0,
        onHints: (hints) => this.#take(hints),
      }),
    };
    this.#loop.wake();
  }

  /** A slot is free again. */
  slotsChanged(): void {
    this.#consumer?.consumer.slotsChanged();
    if (this.#isOpen && this.#parts.bus.health().state !== 'healthy') this.#loop.wake();
  }

  /** Takes nothing more; waits for what is being considered, bounded. */
  async close(graceMs: number): Promise<void> {
    this.#isOpen = false;
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    const consumer = this.#consumer?.consumer;
    this.#consumer = null;
    await Promise.all([this.#loop.stop(graceMs), consumer?.close({ graceMs })]);
  }

  async #take(hints: readonly ReceivedHint[]): Promise<void> {
    await failPoint('worker.hint.received');
    for (const { runId, dispatchNo, publishedAt } of hints) {
      record({ type: 'info', op: HISTORY_OPS.hintReceive, run: runId, key: String(dispatchNo) });
      const lagMs = this.#parts.clock.now().getTime() - publishedAt.getTime();
      metrics.hintLag.record(Math.max(0, lagMs) / 1000);
    }
    await this.#parts.desk.consider(hints);
  }

  async #poll(): Promise<TickResult> {
    const { bus, pool, clock, timing, desk, self, freeSlots } = this.#parts;
    const me = self();
    const free = freeSlots();
    if (!this.#isOpen || me === null || me.queueIds.length === 0 || free <= 0) return 'idle';
    const isHealthy = bus.health().state === 'healthy';
    const nowMs = clock.monotonicMs();
    if (isHealthy && nowMs - this.#lastBeltMs < timing.beltMs) return 'idle';
    this.#lastBeltMs = nowMs;
    const olderThanMs = isHealthy ? timing.beltOlderThanMs : 0;
    // Twice as many as there is room for: some of them others take, some end at their verdict.
    const rows = await pool.use((c) => dispatchedRuns.waiting(c, me.queueIds, olderThanMs, free * 2));
    const claimed = (await desk.decide(rows)).size;
    testSignal('worker.polled', { found: rows.length, claimed });
    return claimed > 0 && freeSlots() > 0 ? 'busy' : 'idle';
  }
}

const sameQueues = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((queue) => b.includes(queue));
