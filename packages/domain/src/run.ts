/** The immutable specification of a run: everything a worker needs, as of admission. */
import type { AskedAt } from './admission/types.js';
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

/** What the signal said beside its version, to be found still true before the run starts. */
export interface RunClaim {
  /** The check that ended so on the version. */
  readonly check: { readonly name: string; readonly conclusion: string } | null;
  /** The branch that the pull request goes into. */
  readonly baseRef: string | null;
  /** Whose right to ask is read again; null: nobody's (a schedule, a call with a token). */
  readonly asker: Asker | null;
  /** Where a person asked for it by a command: an end before the start is told there. */
  readonly asked: AskedAt | null;
}

export type Asker =
  /** Who did it. */
  | { readonly kind: 'actor'; readonly login: string }
  /** For what a program found out: the pull request's author, else who made the commit. */
  | { readonly kind: 'author' };

export interface RunSpec {
  readonly tenant: string;
  readonly workKey: string;
  readonly route: string;
  readonly mode: Mode;
  readonly agent: AgentPolicy;
  readonly prompt: string | null;
  /** SHA-256 of the prompt as the agent is given it. Absent in runs that were admitted before it was noted. */
  readonly promptDigest?: string | null;
  /** What its templates were filled with, by path: the next run of the same work has no signal to read them from. */
  readonly promptValues?: Readonly<Record<string, string>>;
  readonly setup: readonly string[];
  readonly verify: readonly string[];
  readonly repository: RunRepository | null;
  readonly target: TargetRef | null;
  /** Absent in runs that were admitted before there was one. */
  readonly claim?: RunClaim | null;
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
