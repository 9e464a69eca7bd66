/** The immutable specification of a run: everything a worker needs, as of admission. */
import type {
  AgentPolicy,
  Capabilities,
  Mode,
  ObserveSpec,
  OnNewVersion,
  RetryPolicy,
  Risk,
  RunLimits,
} from './policy.js';
import type { TargetRef } from './signal.js';

export interface RunRepository {
  readonly externalId: string;
  readonly fullName: string;
  /** Where git reads and pushes. */
  readonly url: string;
  readonly defaultBranch: string | null;
}

export interface RunSpec {
  readonly tenant: string;
  readonly workKey: string;
  readonly route: string;
  readonly mode: Mode;
  readonly agent: AgentPolicy;
  readonly prompt: string | null;
  readonly setup: readonly string[];
  readonly verify: readonly string[];
  readonly repository: RunRepository | null;
  readonly target: TargetRef | null;
  /** Given by a person with a manual run, or the observation of a goal. */
  readonly inputs: unknown;
  /** An observation of a goal: no agent, no result, no cost. Absent or null: the agent works. */
  readonly observe?: ObserveSpec | null;
  readonly requires: Capabilities;
  readonly risk: Risk;
  readonly onNewVersion: OnNewVersion;
  readonly limits: RunLimits;
  readonly retry: RetryPolicy;
  readonly paths: readonly string[];
  readonly protectedPaths: readonly string[];
}
