/**
 * A background loop: one bounded tick after the other, never two at once.
 *
 *   wake() or the period ──► tick ──► `busy`: again at once · `waiting`: after the period
 *                                    · `idle`: after the period, longer when idle for long
 *
 * A tick that throws is logged, counted and tried again after a pause that grows; one bad row never stops a loop.
 * `stop` waits for the running tick, bounded.
 */
import type { Logger } from '@headgate/telemetry';

/** `waiting`: nothing to do now, and something there that will need doing. */
export type TickResult = 'busy' | 'waiting' | 'idle';

export interface LoopOptions {
  readonly name: string;
  /** Between two idle ticks. */
  readonly periodMs: number;
  /** The period grows to this while nothing happens. Default: it does not grow. */
  readonly idlePeriodMs?: number;
  /** Longest pause after failures in a row. Default 5 s. */
  readonly maxPauseMs?: number;
  readonly logger: Logger;
  readonly tick: () => Promise<TickResult>;
  /** Called after a failed tick, e.g. to count it. */
  readonly onFailure?: (fault: unknown) => void;
}

/** A pause after the n-th failure in a row. */
const FAILURE_BASE_MS = 100;

export class Loop {
  readonly #options: LoopOptions;
  #stopping = false;
  #running: Promise<void> | null = null;
  #wakeUp: (() => void) | null = null;
  #woken = false;
  #idleMs: number;
  #failures = 0;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#idleMs = options.periodMs;
  }

  start(): void {
    if (this.#running !== null) return;
    this.#stopping = false;
    this.#running = this.#run();
  }

  /** Ticks now, or again right after the tick that is running. */
  wake(): void {
    this.#woken = true;
    this.#wakeUp?.();
  }

  /** Resolves when no tick runs any more, or after `withinMs`. */
  async stop(withinMs = 5_000): Promise<void> {
    this.#stopping = true;
    this.#wakeUp?.();
    const running = this.#running;
    if (running === null) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, withinMs);
    });
    await Promise.race([running, late]);
    clearTimeout(timer);
    this.#running = null;
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      this.#woken = false;
      const pauseMs = await this.#tick();
      if (this.#stopping) return;
      if (pauseMs > 0 && !this.#woken) await this.#pause(pauseMs);
    }
  }

  /** One tick; how long to pause after it. */
  async #tick(): Promise<number> {
    const { name, periodMs, idlePeriodMs, maxPauseMs, logger, tick, onFailure } = this.#options;
    try {
      const result = await tick();
      this.#failures = 0;
      if (result !== 'idle') {
        this.#idleMs = periodMs;
        return result === 'busy' ? 0 : periodMs;
      }
      const pauseMs = this.#idleMs;
      this.#idleMs = Math.min(this.#idleMs * 1.5, idlePeriodMs ?? periodMs);
      return pauseMs;
    } catch (fault) {
      this.#failures += 1;
      onFailure?.(fault);
      logger.error({ err: fault, loop: name, failures: this.#failures }, `${name} failed`);
      return Math.min(FAILURE_BASE_MS * 2 ** this.#failures, maxPauseMs ?? 5_000);
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, ms);
      const loop = this;
      function done(): void {
        clearTimeout(timer);
        loop.#wakeUp = null;
        resolve();
      }
      this.#wakeUp = () => {
        this.#idleMs = this.#options.periodMs;
        done();
      };
    });
  }
}
