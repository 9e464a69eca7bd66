/**
 * The keeper of goals: keeps the rows in line with the policy, asks for observations, and acts on what they say.
 *
 *   policy changed? sync ─► ended runs: conclude (conclude.ts) ─► due goals: look (look.ts) ─► sleep until the next
 *
 *   idle ──look──► observing ──open──► working ──agent ended──► idle
 *     ▲                │ holds: done · a bound: given up · unknown: idle
 *     └────────────────┘
 *
 * Times are the database's. Each step is one transaction under the goal's row, taken with SKIP LOCKED and only as it
 * was seen, so any number of keepers do each step once. It runs no command and holds no lease: a run does, on a worker.
 * A goal that fails is put off by a minute and told; it never stops the others.
 */

import type { Admission } from '@headgate/admission';
import { formatId } from '@headgate/domain';
import type { ServiceContext } from '@headgate/service';
import { type GoalRow, goals, isConnectionFault } from '@headgate/store';
import { metrics, span, testSignal } from '@headgate/telemetry';
import type { Heads } from '../repositories/heads.js';
import { TimerLoop } from '../timer-loop.js';
import { conclude } from './conclude.js';
import { NotTakenError, type Stepped } from './keep.js';
import { look } from './look.js';
import { syncGoals } from './sync.js';

export interface KeeperOptions {
  readonly context: ServiceContext;
  readonly admission: Admission;
  readonly heads: Heads;
}

/** Due, and held by other keepers: time for them to commit. */
const SHORTEST_SLEEP_MS = 200;
const PUT_OFF_MS = 60_000;
const GOALS_PER_LOOK = 20;

export class GoalKeeper {
  readonly #options: KeeperOptions;
  readonly #loop: TimerLoop;

  constructor(options: KeeperOptions) {
    this.#options = options;
    const { context } = options;
    this.#loop = new TimerLoop({
      context,
      name: 'goal keeper',
      job: 'goal_keeper',
      sync: (active) => syncGoals(context.database.service, active, context.ids),
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
    const ended = await pool.use((c) => goals.ended(c, GOALS_PER_LOOK));
    const due = await pool.use((c) => goals.due(c, GOALS_PER_LOOK));
    let moved = 0;
    for (const row of ended) if (await this.#step(row, conclude)) moved += 1;
    for (const row of due) if (await this.#step(row, look)) moved += 1;
    if (moved > 0) return 'busy';
    const next = await pool.use((c) => goals.nextLook(c));
    if (next === null || next.at === null) return { untilDueMs: Number.POSITIVE_INFINITY };
    return { untilDueMs: Math.max(SHORTEST_SLEEP_MS, next.at.getTime() - next.now.getTime()) };
  }

  /** Whether something changed. */
  async #step(row: GoalRow, step: typeof look): Promise<boolean> {
    const { context, admission, heads } = this.#options;
    const pool = context.database.service;
    const about = { goalId: formatId('goal', row.id), route: row.route };
    try {
      const stepped = await span('goal.step', { 'headgate.goal.id': about.goalId }, () =>
        step(row, {
          pool,
          admission,
          heads,
          active: context.policy.current(),
          ids: context.ids,
          committed: (undertaken) => undertaken?.committed(),
        }),
      );
      this.#tell(about, stepped);
      return stepped.kind !== 'passed';
    } catch (fault) {
      if (isConnectionFault(fault)) throw fault;
      const isExpected = fault instanceof NotTakenError;
      if (!isExpected) metrics.jobFailures.add(1, { job: 'goal' });
      context.logger[isExpected ? 'info' : 'error'](
        { err: fault, ...about },
        'a goal is put off by a minute',
      );
      await pool.use((c) => goals.postpone(c, row.id, PUT_OFF_MS));
      return false;
    }
  }

  #tell(about: { readonly goalId: string; readonly route: string }, stepped: Stepped): void {
    testSignal('goal.stepped', { ...about, ...stepped });
    if (stepped.kind === 'done' || stepped.kind === 'given-up' || stepped.kind === 'paused') {
      this.#options.context.logger.info({ ...about, step: stepped.kind }, 'a goal ended its work');
    }
  }
}
