/** From the catalogue to ticks: what each job is given, and a tick of its own for one reconciler. */
import { Admission } from '@headgate/admission';
import { Dispatcher } from '@headgate/dispatch';
import type { ServiceContext, TickResult } from '@headgate/service';
import { GithubClient } from '@headgate/sources';
import type { Job } from './job.js';
import { reportOf } from './report.js';
import type { ReconcilerTiming } from './timing.js';

export interface PreparedJob {
  readonly job: Job;
  /** One bounded step; `busy`: there is more to do at once. */
  readonly tick: () => Promise<TickResult>;
}

const ACTOR = 'reconciler';

/** The jobs as one reconciler runs them: none shares memory with another's. */
export function prepareJobs(
  context: ServiceContext,
  timing: ReconcilerTiming,
  jobs: readonly Job[],
): readonly PreparedJob[] {
  const { database, dimensions, ids, logger, bus, policy } = context;
  const pool = database.service;
  const admission = new Admission({
    pool,
    dimensions,
    ids,
    logger,
    policy: () => policy.current(),
    onAdmitted: (runs) => {
      for (const { tenantId, queue } of runs) void bus.wake('ready', { tenantId, queue });
    },
  });
  const dispatcher = new Dispatcher({
    pool,
    bus,
    dimensions,
    logger,
    policy: () => policy.current(),
    actor: ACTOR,
  });
  const github = new GithubClient({
    clock: context.clock,
    env: process.env,
    configPath: context.settings.configPath,
  });
  const shared = { context, admission, dispatcher, github, timing, actor: ACTOR };
  return jobs.map((job) => ({
    job,
    tick: job.make({ ...shared, limit: job.limit, report: reportOf(job.name, logger) }),
  }));
}
