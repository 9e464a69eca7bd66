/**
 * The reconciler: one loop for each job of the catalogue, and the gauges that only the database can tell.
 *
 * Any number may run, beside each other and beside schedulers: every job is bounded per tick, takes rows with SKIP
 * LOCKED, proves what is wrong under locks, writes on condition, and leaves one event with a reason for each repair.
 * Nothing is kept between ticks but where a walk stands, so a reconciler that dies leaves nothing, and its successor
 * begins at the start. A job that fails is logged, counted (`headgate.job.failure.count`) and tried again; it stops
 * no other.
 */
import { Loop, type Service, type ServiceContext } from '@headgate/service';
import { metrics } from '@headgate/telemetry';
import { JOBS } from './catalogue.js';
import { observeInstance } from './gauges.js';
import type { Job, Period } from './job.js';
import { type PreparedJob, prepareJobs } from './prepare-jobs.js';
import { assertTiming, RECONCILER_TIMING, type ReconcilerTiming, reapPeriodMs } from './timing.js';

export interface ReconcilerOptions {
  readonly timing?: Partial<ReconcilerTiming>;
  /** Default: all of the catalogue. */
  readonly jobs?: readonly Job[];
}

const READY_POLL_MS = 200;

/** Throws ReconcilerTimingError when the reaper could not keep up with the leases. */
export function createReconciler(context: ServiceContext, options: ReconcilerOptions = {}): Service {
  const timing = { ...RECONCILER_TIMING, ...options.timing };
  assertTiming(timing, context.policy.current().policy.lease);
  const jobs = prepareJobs(context, timing, options.jobs ?? JOBS);
  const loops = jobs.map((job) => loopOf(job, timing, context));
  let endGauges: (() => void) | null = null;
  let isStopped = false;

  const stopLoops = async (): Promise<void> => {
    await Promise.all(loops.map((loop) => loop.stop()));
  };
  return {
    name: 'reconciler',
    router: null,
    start: async () => {
      isStopped = false;
      endGauges ??= observeInstance(context);
      for (const loop of loops) loop.start();
    },
    ready: async () => {
      while (!isStopped && !(await canReachDatabase(context))) {
        await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
      }
    },
    // A tick is short and bounded: there is nothing to hand back.
    drain: stopLoops,
    stop: async () => {
      isStopped = true;
      endGauges?.();
      endGauges = null;
      await stopLoops();
    },
  };
}

function loopOf({ job, tick }: PreparedJob, timing: ReconcilerTiming, context: ServiceContext): Loop {
  return new Loop({
    name: job.name,
    // Asked before each pause: another policy may have shortened the leases.
    get periodMs() {
      return periodMs(job.period, timing, context);
    },
    ...(job.period === 'read' ? { idlePeriodMs: Math.max(timing.readMs, timing.idleReadMs) } : {}),
    logger: context.logger,
    tick,
    onFailure: () => metrics.jobFailures.add(1, { job: job.name }),
  });
}

function periodMs(period: Period, timing: ReconcilerTiming, { policy }: ServiceContext): number {
  switch (period) {
    case 'reap':
      return reapPeriodMs(timing, policy.current().policy.lease);
    case 'read':
      return timing.readMs;
    case 'repair':
      return timing.repairMs;
    case 'look':
      return timing.lookMs;
    case 'housekeeping':
      return timing.housekeepingMs;
  }
}

const canReachDatabase = ({ database }: ServiceContext): Promise<boolean> =>
  database.service
    .use((c) => c.query('select 1'))
    .then(
      () => true,
      () => false,
    );
