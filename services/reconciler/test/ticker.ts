import type { ServiceContext } from '@headgate/service';
import {
  JOBS,
  type PreparedJob,
  prepareJobs,
  RECONCILER_TIMING,
  type ReconcilerTiming,
} from '../src/index.js';

/** More pages than any test has. */
const MOST_TICKS = 200;

/** One reconciler without its loops: it does a round when it is told to. */
export class Ticker {
  readonly #jobs: readonly PreparedJob[];

  constructor(context: ServiceContext, timing: Partial<ReconcilerTiming> = {}) {
    this.#jobs = prepareJobs(context, { ...RECONCILER_TIMING, ...timing }, JOBS);
  }

  /** Each named job (none named: every one, in the order of the catalogue) until it is idle. */
  async round(...names: readonly string[]): Promise<void> {
    const unknown = names.filter((name) => !this.#jobs.some(({ job }) => job.name === name));
    if (unknown.length > 0) throw new Error(`no such job: ${unknown.join(', ')}`);
    for (const { job, tick } of this.#jobs) {
      if (names.length > 0 && !names.includes(job.name)) continue;
      for (let ticks = 0; (await tick()) === 'busy'; ticks += 1) {
        if (ticks > MOST_TICKS) throw new Error(`${job.name} does not come to rest`);
      }
    }
  }
}
