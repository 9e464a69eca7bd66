/**
 * The events of one run as one chain of transitions.
 *
 * Without commit timestamps the database gives only the transactions' numbers, and a transaction may take its
 * number early, wait for the run's row, and commit late. All transitions of a run are serialised by that row,
 * so their real order is one in which each begins where the one before ended. If such an order exists we take
 * the one nearest to the numbers; if none does, the history is broken, whatever the order of commits was.
 */
import type { RunStatus } from '@headgate/domain';
import { groupBy } from './collect.js';
import type { RunEventRow } from './model.js';

export interface Transition extends RunEventRow {
  readonly to: RunStatus;
}

export interface RunChain {
  readonly transitions: readonly Transition[];
  /** The first transition that does not begin where the one before ended; null for an unbroken chain. */
  readonly brokenAt: Transition | null;
}

const isTransition = (event: RunEventRow): event is Transition =>
  event.to !== null && event.from !== event.to;

/** A birth may leave two events in one transaction (admitted, queued): they are one step. */
function withoutBirthTwins(transitions: readonly Transition[]): readonly Transition[] {
  const birth = transitions.find((step) => step.from === null);
  return transitions.filter(
    (step) => step === birth || step.from !== null || step.xid !== birth?.xid || step.to !== birth.to,
  );
}

function firstBreak(transitions: readonly Transition[]): Transition | null {
  let status: RunStatus | null = null;
  for (const step of transitions) {
    if (step.from !== status) return step;
    status = step.to;
  }
  return null;
}

/** More groups than this are not searched: a run writes few transactions, and the search branches. */
const MAX_SEARCH_STEPS = 20_000;

/** Orders whole transactions so that the chain is unbroken; null when no order does it. */
function unbroken(groups: readonly (readonly Transition[])[]): readonly Transition[] | null {
  const used = groups.map(() => false);
  const order: (readonly Transition[])[] = [];
  let steps = 0;
  const extend = (status: RunStatus | null): boolean => {
    if (order.length === groups.length) return true;
    for (const [index, group] of groups.entries()) {
      steps += 1;
      if (steps > MAX_SEARCH_STEPS) return false;
      if (used[index] === true || group[0]?.from !== status) continue;
      used[index] = true;
      order.push(group);
      if (extend(group.at(-1)?.to ?? status)) return true;
      order.pop();
      used[index] = false;
    }
    return false;
  };
  return extend(null) ? order.flat() : null;
}

export function chainOfRun(events: readonly RunEventRow[], order: 'commit' | 'xid'): RunChain {
  const transitions = withoutBirthTwins(events.filter(isTransition));
  const brokenAt = firstBreak(transitions);
  if (brokenAt === null || order === 'commit') return { transitions, brokenAt };
  const groups = [...groupBy(transitions, (event) => event.xid).values()];
  const reordered = unbroken(groups);
  return reordered === null || firstBreak(reordered) !== null
    ? { transitions, brokenAt }
    : { transitions: reordered, brokenAt: null };
}
