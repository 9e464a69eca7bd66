/**
 * The loop of what has a time: schedules and goals. It keeps their rows in line with the policy, looks at what is due,
 * and sleeps until the next of it is; a new policy and what people ask (the wake-up `timers`) wake it. It looks at least
 * every five seconds, since others may pause, resume or change a row.
 */
import { Loop, type ServiceContext, type TickResult } from '@headgate/service';
import type { ActivePolicy } from '@headgate/store';
import { metrics } from '@headgate/telemetry';

const LOOK_EVERY_MS = 5_000;

export interface TimerLoopOptions {
  readonly context: ServiceContext;
  readonly name: string;
  /** As `headgate.job.failure.count` calls it. */
  readonly job: string;
  /** Once for each policy version that this process sees. */
  readonly sync: (active: ActivePolicy) => Promise<unknown>;
  /** `busy`: again at once. Else how long until the next is due; Infinity where nothing is. */
  readonly look: () => Promise<'busy' | { readonly untilDueMs: number }>;
}

export class TimerLoop {
  readonly #options: TimerLoopOptions;
  readonly #loop: Loop;
  #syncedVersion: number | null = null;
  #timer: NodeJS.Timeout | undefined;
  #stopListening: readonly (() => void)[] = [];

  constructor(options: TimerLoopOptions) {
    this.#options = options;
    this.#loop = new Loop({
      name: options.name,
      periodMs: LOOK_EVERY_MS,
      logger: options.context.logger,
      tick: () => this.#tick(),
      onFailure: () => metrics.jobFailures.add(1, { job: options.job }),
    });
  }

  start(): void {
    const { policy, bus } = this.#options.context;
    if (this.#stopListening.length === 0) {
      this.#stopListening = [
        policy.onChange(() => this.#loop.wake()),
        bus.onWake('timers', () => this.#loop.wake()),
      ];
    }
    this.#loop.start();
  }

  async stop(): Promise<void> {
    for (const stop of this.#stopListening) stop();
    this.#stopListening = [];
    clearTimeout(this.#timer);
    await this.#loop.stop();
  }

  async #tick(): Promise<TickResult> {
    clearTimeout(this.#timer);
    const active = this.#options.context.policy.currentOrNull();
    if (active === null) return 'idle';
    if (this.#syncedVersion !== active.version) {
      await this.#options.sync(active);
      this.#syncedVersion = active.version;
    }
    const seen = await this.#options.look();
    if (seen === 'busy') return 'busy';
    if (seen.untilDueMs < LOOK_EVERY_MS) {
      this.#timer = setTimeout(() => this.#loop.wake(), seen.untilDueMs);
    }
    return 'idle';
  }
}
