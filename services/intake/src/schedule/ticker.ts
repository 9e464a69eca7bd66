/**
 * The schedule ticker: keeps the rows in line with the policy, and fires what is due.
 *
 *   policy changed? sync ─► failures pause ─► what people asked for (perform-request.ts)
 *     ─► soonest rows ─► each due one: fire (fire.ts) ─► sleep until the next is due
 *
 * Times are the database's; this process only decides when to look (timer-loop.ts). Several tickers are harmless. A
 * schedule that fails is put off by a minute and told; it never stops the others.
 */
import type { Admission } from '@headgate/admission';
import { formatId } from '@headgate/domain';
import type { ServiceContext } from '@headgate/service';
import {
  isConnectionFault,
  type ScheduleRequest,
  type ScheduleRow,
  scheduleRequests,
  schedules,
} from '@headgate/store';
import { metrics, span, testSignal } from '@headgate/telemetry';
import type { Heads } from '../repositories/heads.js';
import { TimerLoop } from '../timer-loop.js';
import { fire, postpone } from './fire.js';
import { pauseFailed } from './pause-on-failure.js';
import { performRequest } from './perform-request.js';
import { syncSchedules } from './sync.js';

export interface TickerOptions {
  readonly context: ServiceContext;
  readonly admission: Admission;
  readonly heads: Heads;
}

/** All that is due is held by other tickers: time for them to commit. */
const LOOK_AGAIN_MS = 200;
const PUT_OFF_MS = 60_000;
const ROWS_PER_LOOK = 20;
const REQUESTS_PER_LOOK = 5;

export class Ticker {
  readonly #options: TickerOptions;
  readonly #loop: TimerLoop;

  constructor(options: TickerOptions) {
    this.#options = options;
    const { context } = options;
    this.#loop = new TimerLoop({
      context,
      name: 'schedule ticker',
      job: 'schedule_ticker',
      sync: (active) => syncSchedules(context.database.service, active, context.ids),
      look: () => this.#look(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #look(): Promise<'busy' | { readonly untilDueMs: number }> {
    const pool = this.#options.context.database.service;
    await pauseFailed(pool);
    const asked = await pool.use((c) => scheduleRequests.pending(c, REQUESTS_PER_LOOK));
    let settled = 0;
    for (const request of asked) if (await this.#perform(request)) settled += 1;
    const rows = await pool.use((c) => schedules.soonest(c, ROWS_PER_LOOK));
    const due = rows.filter(isDue);
    for (const row of due) if (await this.#fire(row)) settled += 1;
    if (settled > 0) return 'busy';
    return { untilDueMs: due.length > 0 ? LOOK_AGAIN_MS : untilDueMs(rows[0]) };
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
}

const isDue = (row: ScheduleRow): boolean => row.nextAt !== null && row.nextAt.getTime() <= row.now.getTime();

const untilDueMs = (row: ScheduleRow | undefined): number =>
  row === undefined || row.nextAt === null
    ? Number.POSITIVE_INFINITY
    : Math.max(1, row.nextAt.getTime() - row.now.getTime());
