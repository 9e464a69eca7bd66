/**
 * The loop guard: work that our own work causes comes to an end by itself, before it costs anything.
 *
 *   a person's act ─► run ─► our commit ─► a check fails on it ─► run ─► our commit ─► …
 *
 * What an event is in such a chain does not depend on who sent it: a check on our commit is ours even when the CI's
 * own app reports it. So the chain is followed by versions: a version that one of our runs made is one hop behind that
 * run's. A person's act, and a version that somebody else made, begin a new chain. Pure.
 */

/** What an event is in a chain of causes. */
export type CausePart =
  /** A person acted: the chain begins here. */
  | 'person'
  /** The source tells that a version arrived (a push, a pull request's new head). */
  | 'echo'
  /** Something was found out about a version (a check, a workflow, a status). */
  | 'finding'
  /** A machine spoke or acted: it begins no chain. */
  | 'machine'
  /** A schedule or a goal: no event caused it. */
  | 'clock';

/** What a signal is in its chain, and what it is counted under. */
export interface Cause {
  readonly part: CausePart;
  /** A person acted: what is counted since a person acted begins anew. Also a person's push, an echo by itself. */
  readonly isByPerson: boolean;
  /** A person asks for exactly this (a command, a button): again, if it has ended. */
  readonly isRequest: boolean;
  /** The version whose maker is asked for; null when the signal names no commit. */
  readonly version: string | null;
  /** What a person who acts here starts afresh, most exact first: the target, its branch, the work itself. */
  readonly subjects: readonly string[];
  /** Rates: the target and the actor; null is not counted. */
  readonly target: string | null;
  readonly actor: string | null;
}

export interface RateLimit {
  /** Runs. */
  readonly limit: number;
  readonly windowMs: number;
}

export interface LoopGuardPolicy {
  /** Runs of ours that may lie between an event and the outside. */
  readonly maxHops: number;
  /** Runs of one work key since a person last acted on it. */
  readonly maxRunsSinceHuman: number;
  readonly perTarget: RateLimit | null;
  readonly perActor: RateLimit | null;
}

/** What holds for a policy that says nothing (also one that was stored before it could). */
export const DEFAULT_LOOP_GUARD: LoopGuardPolicy = {
  maxHops: 5,
  maxRunsSinceHuman: 3,
  perTarget: null,
  perActor: null,
};

/** The run that made a version. */
export interface Maker {
  readonly runId: string;
  readonly hops: number;
  readonly rootReceiptId: string;
}

/** The newest run of a task, as far as a chain goes on from it. */
export interface Chain {
  /** Runs of the task since the chain began, that one included. */
  readonly runs: number;
  readonly at: Date;
}

/** Where a run stands in its chain; kept on the run, never changed. */
export interface Lineage {
  readonly hops: number;
  /** Null: the run's own receipt is the root. */
  readonly rootReceiptId: string | null;
  readonly chainRuns: number;
}

/** Whether an event begins a chain: nothing of ours lies before it. */
const beginsChain = (part: CausePart, maker: Maker | null): boolean =>
  part === 'person' || part === 'clock' || (part !== 'machine' && maker === null);

/**
 * @param touchedAt when a person last acted on the same subject; later than the task's newest run, the count starts
 * afresh. The hops do not: they follow the version.
 */
export function lineageOf(
  part: CausePart,
  maker: Maker | null,
  chain: Chain | null,
  touchedAt: Date | null,
): Lineage {
  if (beginsChain(part, maker)) return { hops: 0, rootReceiptId: null, chainRuns: 1 };
  const isTouched = chain === null || (touchedAt !== null && touchedAt.getTime() > chain.at.getTime());
  const chainRuns = isTouched ? 1 : chain.runs + 1;
  if (maker === null) return { hops: 0, rootReceiptId: null, chainRuns };
  return { hops: maker.hops + 1, rootReceiptId: maker.rootReceiptId, chainRuns };
}
