/**
 * Starts work right after it was admitted, so that an idle system needs no hop: one dispatch turn under a try-lock, and a
 * wake-up for the schedulers where that left something.
 *
 *   admitted ─► (a turn is under way, or the last one began a moment ago: wait) ─► turn ─► wake ─► …
 *
 * At most one turn at a time, and under load few: a turn sees everything that is ready, so what is admitted meanwhile
 * goes into the next, which begins no sooner than BETWEEN_TURNS_MS after this one, or WHEN_FULL_MS where this one could
 * start nothing (no slot is free, or another dispatcher is at it: slots that become free are the schedulers' business).
 * Only this object touches the list, on one thread. Nothing depends on it: a turn that fails or never happens is made
 * up for by any scheduler within its poll interval. No request waits for it.
 */
import type { AdmittedRun } from '@headgate/admission';
import type { Dispatcher } from '@headgate/dispatch';
import type { Logger } from '@headgate/telemetry';
import type { HintBus } from '@headgate/transport';

export interface StartWorkOptions {
  readonly dispatcher: Pick<Dispatcher, 'noteReady' | 'turn' | 'leavesSome'>;
  readonly bus: Pick<HintBus, 'wake'>;
  readonly logger: Logger;
}

/** A batch of intake commits about as often; more turns than that only count the same slots again. */
const BETWEEN_TURNS_MS = 20;
const WHEN_FULL_MS = 100;

export class StartWork {
  readonly #options: StartWorkOptions;
  #pending: AdmittedRun[] = [];
  #running: Promise<void> | null = null;
  #endPause: (() => void) | null = null;
  #isHurried = false;

  constructor(options: StartWorkOptions) {
    this.#options = options;
  }

  admitted(runs: readonly AdmittedRun[]): void {
    this.#pending.push(...runs);
    this.#running ??= this.#run();
  }

  /** Resolves when no turn is under way and nothing waits for one. Ends a pause: whoever asks will not wait. */
  async idle(): Promise<void> {
    this.#isHurried = true;
    this.#endPause?.();
    await this.#running;
    this.#isHurried = false;
  }

  async #run(): Promise<void> {
    while (this.#pending.length > 0) {
      const runs = this.#pending;
      this.#pending = [];
      const startedAtMs = performance.now();
      const started = await this.#turn(runs);
      const apartMs = started === 0 ? WHEN_FULL_MS : BETWEEN_TURNS_MS;
      await this.#pause(startedAtMs + apartMs - performance.now());
    }
    this.#running = null;
  }

  async #pause(ms: number): Promise<void> {
    if (this.#isHurried || ms <= 0) return;
    await new Promise<void>((resolve) => {
      this.#endPause = resolve;
      setTimeout(resolve, ms).unref();
    });
    this.#endPause = null;
  }

  /** How many runs were dispatched. */
  async #turn(runs: readonly AdmittedRun[]): Promise<number> {
    const { dispatcher, bus, logger } = this.#options;
    const pairs = new Map(runs.map(({ tenantId, queue }) => [`${tenantId}:${queue}`, { tenantId, queue }]));
    try {
      await dispatcher.noteReady([...pairs.values()]);
      const started = await dispatcher.turn({ wait: false });
      if (dispatcher.leavesSome)
        await Promise.all([...pairs.values()].map((pair) => bus.wake('ready', pair)));
      return started;
    } catch (fault) {
      logger.warn({ err: fault }, 'dispatch after an admission failed; a scheduler will do it');
      return 0;
    }
  }
}
