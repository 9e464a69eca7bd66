/**
 * The scheduler: one loop that dispatches what is ready, and does what time alone brings about.
 *
 *   wake-up or a second ─► one look (what is due?) ─► deferred signals ─► upkeep ─► full scan ─► dispatch turns
 *
 * Any number may run: each step is a transaction that is safe beside itself in another process (see admission,
 * dispatch). Wake-ups and memory only say where to look; a scheduler that lost both finds everything within five
 * seconds. A system in which something waits or runs is asked one statement a second, and an idle one every 2.5 s: whoever
 * admits, frees or puts off wakes a scheduler. Each step is tried though another one failed.
 */
import { Admission } from '@headgate/admission';
import { DISPATCH_TIMING, Dispatcher, type DispatchTiming } from '@headgate/dispatch';
import { Loop, policyArrives, type Service, type ServiceContext, type TickResult } from '@headgate/service';
import { dueWork } from '@headgate/store';
import { metrics, testSignal } from '@headgate/telemetry';
import { observeQueues } from './gauges.js';

export interface SchedulerOptions {
  readonly timing?: DispatchTiming;
}

const TICK_MS = 1_000;
/** The longest pause while nothing waits and nothing runs. */
const IDLE_TICK_MS = 2_500;
const SCAN_EVERY_MS = 5_000;
const PROMOTE_AT_ONCE = 100;
/** Turns in a row that only read on behind blocked heads; then the loop rests. */
const READ_ON_TURNS = 20;
const STOP_MS = 10_000;

export function createScheduler(context: ServiceContext, options: SchedulerOptions = {}): Service {
  return new Scheduler(context, options);
}

class Scheduler implements Service {
  readonly name = 'scheduler';
  readonly router = null;
  readonly #context: ServiceContext;
  readonly #dispatcher: Dispatcher;
  readonly #admission: Admission;
  readonly #timing: DispatchTiming;
  readonly #loop: Loop;
  #endings: (() => void)[] = [];
  #scannedAtMs = Number.NEGATIVE_INFINITY;

  constructor(context: ServiceContext, options: SchedulerOptions) {
    const { database, dimensions, ids, logger } = context;
    const policy = () => context.policy.current();
    this.#context = context;
    this.#timing = options.timing ?? DISPATCH_TIMING;
    this.#dispatcher = new Dispatcher({
      pool: database.service,
      bus: context.bus,
      dimensions,
      logger,
      policy,
      actor: this.name,
      onPolicyMoved: () => void context.policy.refresh().catch(() => {}),
      timing: this.#timing,
    });
    this.#admission = new Admission({
      pool: database.service,
      dimensions,
      ids,
      logger,
      policy,
      onAdmitted: (runs) => void this.#noteReady(runs),
    });
    this.#loop = new Loop({
      name: 'scheduler',
      periodMs: TICK_MS,
      idlePeriodMs: IDLE_TICK_MS,
      logger,
      tick: () => this.#tick(),
      onFailure: () => metrics.jobFailures.add(1, { job: 'scheduler' }),
    });
  }

  async start(): Promise<void> {
    if (this.#endings.length > 0) return;
    this.#endings = [
      this.#context.bus.onWake('ready', (pair) => void this.#woken(pair)),
      ...observeQueues(this.#context.database.service),
    ];
    this.#loop.start();
  }

  ready(): Promise<void> {
    return policyArrives(this.#context);
  }

  /** Nothing is held between two turns: ending the loop hands everything to the other schedulers. */
  drain(): Promise<void> {
    return this.stop();
  }

  async stop(): Promise<void> {
    for (const end of this.#endings) end();
    this.#endings = [];
    await this.#loop.stop(STOP_MS);
  }

  async #woken(pair: { readonly tenantId: number; readonly queue: string }): Promise<void> {
    await this.#noteReady([pair]);
    this.#loop.wake();
  }

  async #noteReady(pairs: readonly { readonly tenantId: number; readonly queue: string }[]): Promise<void> {
    try {
      await this.#dispatcher.noteReady(pairs);
    } catch (fault) {
      this.#context.logger.warn({ err: fault }, 'a wake-up could not be noted; the next scan finds it');
    }
  }

  async #tick(): Promise<TickResult> {
    const { database, policy, clock } = this.#context;
    const due = await database.service.use((c) => dueWork.look(c, this.#timing.hintAgainAfterMs));
    if (due.policyVersion !== policy.currentOrNull()?.version) await policy.refresh();
    if (policy.currentOrNull() === null) return 'idle';

    const steps = new Steps();
    if (due.signals) await steps.try(() => this.#admission.promoteDue(PROMOTE_AT_ONCE));
    if (due.items) await steps.try(() => this.#upkeep());
    const isScanDue = clock.monotonicMs() - this.#scannedAtMs >= SCAN_EVERY_MS;
    if (due.ready && (isScanDue || !this.#dispatcher.hasReady)) {
      this.#scannedAtMs = clock.monotonicMs();
      await steps.try(() => this.#dispatcher.scan());
    }
    const dispatched = (await steps.try(() => this.#dispatch())) ?? 0;
    testSignal('scheduler.ticked', { dispatched, ...due });
    steps.throwFirst();
    if (dispatched > 0) return 'busy';
    return due.waits ? 'waiting' : 'idle';
  }

  async #upkeep(): Promise<void> {
    const done = await this.#dispatcher.upkeep();
    if (done.takenBack > 0) metrics.repairs.add(done.takenBack, { reason_code: 'DISPATCH_EXPIRED' });
  }

  /** Turns until nothing more starts, and a bounded way on behind heads that are blocked. */
  async #dispatch(): Promise<number> {
    for (let turn = 0; turn < READ_ON_TURNS; turn += 1) {
      const dispatched = await this.#dispatcher.turn({ wait: true });
      if (dispatched > 0 || !this.#dispatcher.readsOn) return dispatched;
    }
    return 0;
  }
}

/** Runs each step whatever became of the others; the first fault is the tick's. */
class Steps {
  #faults: unknown[] = [];

  async try<T>(step: () => Promise<T>): Promise<T | null> {
    try {
      return await step();
    } catch (fault) {
      this.#faults.push(fault);
      return null;
    }
  }

  throwFirst(): void {
    if (this.#faults.length > 0) throw this.#faults[0];
  }
}
