/**
 * Starts work right after it was admitted, so that an idle system needs no hop: one dispatch turn under a try-lock,
 * and a wake-up for the schedulers.
 *
 * At most one turn at a time; what is admitted meanwhile goes into the next. Nothing depends on it: a turn that fails
 * or never happens is made up for by any scheduler within its poll interval. No request waits for it.
 */
import type { AdmittedRun } from '@headgate/admission';
import type { Dispatcher } from '@headgate/dispatch';
import type { Logger } from '@headgate/telemetry';
import type { HintBus } from '@headgate/transport';

export interface StartWorkOptions {
  readonly dispatcher: Pick<Dispatcher, 'noteReady' | 'turn'>;
  readonly bus: Pick<HintBus, 'wake'>;
  readonly logger: Logger;
}

export class StartWork {
  readonly #options: StartWorkOptions;
  #pending: AdmittedRun[] = [];
  #running: Promise<void> | null = null;

  constructor(options: StartWorkOptions) {
    this.#options = options;
  }

  admitted(runs: readonly AdmittedRun[]): void {
    this.#pending.push(...runs);
    this.#running ??= this.#run();
  }

  /** Resolves when no turn is under way. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#pending.length > 0) {
      const runs = this.#pending;
      this.#pending = [];
      await this.#start(runs);
    }
    this.#running = null;
  }

  async #start(runs: readonly AdmittedRun[]): Promise<void> {
    const { dispatcher, bus, logger } = this.#options;
    const pairs = new Map(runs.map(({ tenantId, queue }) => [`${tenantId}:${queue}`, { tenantId, queue }]));
    try {
      await dispatcher.noteReady([...pairs.values()]);
      await dispatcher.turn({ wait: false });
      await Promise.all([...pairs.values()].map((pair) => bus.wake('ready', pair)));
    } catch (fault) {
      logger.warn({ err: fault }, 'dispatch after an admission failed; a scheduler will do it');
    }
  }
}
