/** What can be said about a cluster under test, and about one process of it. */
import type { LeaseTiming, Policy, RoutePolicy } from '@headgate/domain';
import type { ServiceName } from './member.js';

export interface ClusterOptions {
  /** How many processes of each; default one each, two workers, no console. */
  readonly services?: Partial<Record<ServiceName, number>>;
  /**
   * `apart`: each service a process of its own. `control`: one process for all but the workers, which is quicker to
   * start where only workers are killed. `one`: everything in one, for tests that kill nothing. Default `control`.
   */
  readonly layout?: 'apart' | 'control' | 'one';
  readonly redis?: 'shared' | 'private' | 'none';
  readonly postgres?: 'shared' | 'private';
  /** Default `PATIENT_LEASE`. */
  readonly lease?: LeaseTiming;
  /** Applied to every route of the workload. */
  readonly route?: Partial<RoutePolicy>;
  readonly policy?: PolicyChange;
  /** Runs at once of each worker. */
  readonly slots?: number;
  /** Handed to `create<Service>`. */
  readonly options?: Partial<Record<ServiceName, Readonly<Record<string, unknown>>>>;
  /** A schedule that ticks every second; its work is one run, since the head does not move. */
  readonly ticking?: boolean;
  /** `point=action;…`, for every process that is not a worker of its own; `{folder}` is the cluster's folder. */
  readonly failPoints?: string;
  /** Queues beside the default one: checks named `{lane}-…` go there. A worker joins all unless its options name some. */
  readonly lanes?: readonly string[];
  /** Whether agents and verifications that gates can hold run through from the start. */
  readonly gatesOpen?: boolean;
}

/** Laid over the workload's policy. */
export type PolicyChange = Partial<Omit<Policy, 'digest'>>;

export interface MemberOptions {
  readonly failPoints?: string;
  /** Laid over those of the cluster, service by service. */
  readonly options?: Partial<Record<ServiceName, Readonly<Record<string, unknown>>>>;
  readonly env?: Readonly<Record<string, string>>;
}

export const DEFAULT_SERVICES: Record<ServiceName, number> = {
  intake: 1,
  scheduler: 1,
  worker: 2,
  reconciler: 1,
  console: 0,
};
/**
 * What services in these tests are given beside their defaults: nobody waits for a period that is long only because
 * nothing is urgent. Bounds within which a machine with too much to do must answer stay as they are.
 */
export const QUICK_OPTIONS: Partial<Record<ServiceName, Readonly<Record<string, unknown>>>> = {
  worker: { settleMs: 500, timing: { pollMs: 250, killGraceMs: 300, beltMs: 1_000, beltOlderThanMs: 1_000 } },
  scheduler: { timing: { hintAgainAfterMs: 1_500, takeBackAfterMs: 6_000 } },
  reconciler: { timing: { reapMs: 500, operationReadMs: 1_000, settleMs: 500, repairMs: 5_000 } },
};
