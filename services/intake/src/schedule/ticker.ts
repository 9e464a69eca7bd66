/**
 * The schedule ticker: keeps the rows in line with the policy, and fires what is due.
 *
 *   policy changed? sync ─► failures pause ─► what people asked for (perform-request.ts)
 *     ─► soonest rows ─► each due one: fire (fire.ts) ─► sleep until the next is due
 *
 * Times are the database's; this process only decides when to look. It looks at least every five seconds, since others
 * may pause, resume or change a schedule. Several tickers are harmless. A schedule that fails is put off by a minute
 * and told; it never stops the others.
 */
import type { Admission } from '@headgate/admission';
import { formatId } from '@headgate/domain';
import { Loop, type ServiceContext, type TickResult } from '@headgate/service';
import {
  isConnectionFault,
  type ScheduleRequest,
  type ScheduleRow,
  scheduleRequests,
  schedules,
} from '@headgate/store';
import { metrics, span, testSignal } from '@headgate/telemetry';
import type { Heads } from '../repositories/heads.js';
import { fire, postpone } from './fire.js';
import { pauseFailed } from './pause-on-failure.js';
import { performRequest } from './perform-request.js';
import { syncSchedules } from './sync.js';

export interface TickerOptions {
  readonly context: ServiceContext;
  readonly admission: Admission;
  readonly heads: Heads;
}

const LOOK_EVERY_MS = 5_000;
/** All that is due is held by other tickers: time for them to commit. */
const LOOK_AGAIN_MS = 200;
const PUT_OFF_MS = 60_000;
const ROWS_PER_LOOK = 20;
const REQUESTS_PER_LOOK = 5;

export class Ticker {
  readonly #options: TickerOptions;
  readonly #loop: Loop;
  #syncedVersion: number | null = null;
  #timer: NodeJS.Timeout | undefined;
  #stopListening: (() => void) | null = null;

  constructor(options: TickerOptions) {
    this.#options = options;
    this.#loop = new Loop({
      name: 'schedule ticker',
      periodMs: LOOK_EVERY_MS,
      logger: options.context.logger,
      tick: () => this.#tick(),
      onFailure: () => metrics.jobFailures.add(1, { job: 'schedule_ticker' }),
    });
  }

  start(): void {
    const { policy, bus } = this.#options.context;
    this.#stopListening ??= both(
      policy.onChange(() => this.#loop.wake()),
      bus.onWake('timers', () => this.#loop.wake()),
    );
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#stopListening?.();
    this.#stopListening = null;
    clearTimeout(this.#timer);
    await this.#loop.stop();
  }

  async #tick(): Promise<TickResult> {
    clearTimeout(this.#timer);
    const { context } = this.#options;
    const active = context.policy.currentOrNull();
    if (active === null) return 'idle';
    const pool = context.database.service;
    if (this.#syncedVersion !== active.version) {
      await syncSchedules(pool, active, context.ids);
      this.#syncedVersion = active.version;
    }
    await pauseFailed(pool);
    const asked = await pool.use((c) => scheduleRequests.pending(c, REQUESTS_PER_LOOK));
    let settled = 0;
    for (const request of asked) if (await this.#perform(request)) settled += 1;
    const rows = await pool.use((c) => schedules.soonest(c, ROWS_PER_LOOK));
    const due = rows.filter(isDue);
    for (const row of due) if (await this.#fire(row)) settled += 1;
    if (settled > 0) return 'busy';
    const [next] = rows;
    this.#wakeIn(due.length > 0 ? LOOK_AGAIN_MS : untilDueMs(next));
    return 'idle';
  }

  /** Whether something changed, so that another look is worth while at once. */
  async #fire(row: ScheduleRow): Promise<boolean> {
    const { context, admission, heads } = this.#options;
    const pool = context.database.service;
    const about = { scheduleId: formatId('sch', row.id), route: row.route };
    try {
      const options = { pool, admission, heads, active: context.policy.current() };
      const fired = await span('schedule.tick', { 'headgate.schedule.id': about.scheduleId }, () =>
        fire(row, options),
      );
      testSignal('schedule.fired', { ...about, ...fired });
      if (fired.kind === 'held-back')
        context.logger.warn(
          { ...about, detail: fired.detail },
          'a schedule waits: its source cannot be read',
        );
      return fired.kind !== 'passed';
    } catch (fault) {
      if (isConnectionFault(fault)) throw fault;
      metrics.jobFailures.add(1, { job: 'schedule' });
      context.logger.error(
        { err: fault, ...about },
        'a schedule could not be fired; it is put off by a minute',
      );
      await postpone(pool, row, PUT_OFF_MS);
      return true;
    }
  }

  /** A step of what a person asked for. One that fails is tried again at the next look. */
  async #perform(request: ScheduleRequest): Promise<boolean> {
    const { context, admission, heads } = this.#options;
    const about = {
      requestId: formatId('sreq', request.id),
      scheduleId: formatId('sch', request.scheduleId),
    };
    try {
      const options = { pool: context.database.service, admission, heads, active: context.policy.current() };
      const performed = await span('schedule.request', { 'headgate.schedule.id': about.scheduleId }, () =>
        performRequest(request, options),
      );
      testSignal('schedule.performed', { ...about, ...performed });
      if (performed.kind === 'held-back')
        context.logger.warn(
          { ...about, detail: performed.detail },
          'a requested tick waits: its source cannot be read',
        );
      return performed.kind === 'settled' && !performed.isDone;
    } catch (fault) {
      if (isConnectionFault(fault)) throw fault;
      metrics.jobFailures.add(1, { job: 'schedule' });
      context.logger.error({ err: fault, ...about }, 'what was asked of a schedule could not be done');
      return false;
    }
  }

  #wakeIn(ms: number): void {
    if (ms >= LOOK_EVERY_MS) return;
    this.#timer = setTimeout(() => this.#loop.wake(), ms);
  }
}

const both = (first: () => void, second: () => void) => (): void => {
  first();
  second();
};

const isDue = (row: ScheduleRow): boolean => row.nextAt !== null && row.nextAt.getTime() <= row.now.getTime();

const untilDueMs = (row: ScheduleRow | undefined): number =>
  row === undefined || row.nextAt === null
    ? Number.POSITIVE_INFINITY
    : Math.max(1, row.nextAt.getTime() - row.now.getTime());
