/** INV-ST1 to INV-ST6: the life of a run. */
import { BIRTH_STATUSES, isLeased, isTerminal, isWaiting, PLACE, type RunStatus } from '@headgate/domain';
import { HISTORY_OPS } from '@headgate/telemetry';
import { Collector, groupBy } from './collect.js';
import type { RunChain, Transition } from './commit-order.js';
import type { Facts } from './facts.js';
import type { Examined, Snapshot } from './model.js';

const isBirth = (status: RunStatus): boolean => (BIRTH_STATUSES as readonly RunStatus[]).includes(status);

/** INV-ST1: only legal transitions, terminals absorb. */
export function onlyLegalTransitions(facts: Facts): Examined {
  const found = new Collector('transitions', 'ends');
  for (const run of facts.input.runs) {
    const chain = facts.chains.get(run.id);
    const last = chain?.transitions.at(-1);
    if (chain === undefined || last === undefined) {
      found.violated('A run has no events.', run);
      continue;
    }
    if (chain.brokenAt !== null) {
      found.violated('A transition does not begin where the one before ended.', chain.brokenAt);
    }
    for (const step of chain.transitions) {
      found.saw('transitions');
      if (isTerminal(step.to)) found.saw('ends');
      const legal =
        step.from === null ? isBirth(step.to) : facts.input.transitions[step.from].includes(step.to);
      if (!legal) found.violated(`${step.from ?? 'birth'} -> ${step.to} is not legal.`, step);
    }
    if (last.to !== run.status) found.violated('The last event and the row disagree.', last, run);
  }
  return found.done();
}

interface CancelOf {
  readonly at: Transition;
  readonly after: readonly Transition[];
}

function cancelOf(chain: RunChain | undefined): CancelOf | null {
  const index = chain?.transitions.findIndex((step) => step.to === 'CANCEL_REQUESTED') ?? -1;
  const at = chain?.transitions[index];
  return chain === undefined || at === undefined ? null : { at, after: chain.transitions.slice(index + 1) };
}

/**
 * INV-ST2: after a cancel commits: no new attempt, no new intent, final state CANCELLED. (Where completion
 * committed first there is no cancel in the chain: ST1 sees to it.)
 */
export function cancelsHold(facts: Facts): Examined {
  const found = new Collector('cancelledWaiting', 'cancelledLeased');
  const { clockToleranceMs } = facts.settings;
  const operations = groupBy(facts.input.operations, (operation) => operation.runId);
  for (const run of facts.input.runs) {
    const cancel = cancelOf(facts.chains.get(run.id));
    if (cancel === null) continue;
    const { at, after } = cancel;
    if (at.from !== null && isLeased(at.from)) found.saw('cancelledLeased');
    if (at.from !== null && isWaiting(at.from)) found.saw('cancelledWaiting');
    for (const step of after) {
      if (step.to === 'CLAIMED') found.violated('A cancelled run was claimed again.', at, step);
    }
    if (isTerminal(run.status) && run.status !== 'CANCELLED') {
      found.violated('A cancelled run did not end CANCELLED.', at, run);
    }
    const afterwardsMs = at.atMs + clockToleranceMs;
    for (const attempt of facts.attemptsByRun.get(run.id) ?? []) {
      if (attempt.startedAtMs > afterwardsMs)
        found.violated('An attempt began after the cancel.', at, attempt);
    }
    for (const operation of operations.get(run.id) ?? []) {
      if (operation.intendedAtMs > afterwardsMs) {
        found.violated('An intent was written after the cancel.', at, operation);
      }
    }
  }
  for (const cancel of facts.callsOf(HISTORY_OPS.cancel)) {
    const answeredNs = cancel.endNs;
    if (cancel.outcome !== 'ok' || answeredNs === null || cancel.run === null) continue;
    // A cancel that found the run ended says so; only one that stands in the chain forbids anything.
    if (cancelOf(facts.chains.get(cancel.run)) === null) continue;
    for (const intent of facts.callsOf(HISTORY_OPS.intend)) {
      if (intent.run === cancel.run && intent.outcome === 'ok' && intent.startNs > answeredNs) {
        found.violated('An intent was accepted after the cancel was acknowledged.', cancel, intent);
      }
    }
  }
  return found.done();
}

/** INV-ST3: one expiry consumes one attempt, however many reapers ran. */
export function oneExpiryOneAttempt(facts: Facts): Examined {
  const found = new Collector('expiries', 'rivalReapers');
  for (const run of facts.input.runs) {
    const lost = (facts.chains.get(run.id)?.transitions ?? []).filter((step) => step.to === 'STALE_LEASE');
    found.saw('expiries', lost.length);
    for (const steps of groupBy(lost, (step) => step.attemptNo?.toString() ?? null).values()) {
      if (steps.length > 1) found.violated('One attempt lost its lease more than once.', ...steps);
    }
    const charged = (facts.attemptsByRun.get(run.id) ?? []).filter((attempt) => attempt.status === 'lost');
    if (charged.length < lost.length) {
      found.violated('A lease was lost without an attempt being used up.', run, lost, charged);
    }
    if (run.failuresLeaseLost > lost.length) {
      found.violated('More attempts were charged to lost leases than leases were lost.', run, lost);
    }
    const attempts = facts.attemptsByRun.get(run.id) ?? [];
    const numbers = attempts.map((attempt) => attempt.number);
    if (run.attemptNo !== attempts.length || numbers.some((number, index) => number !== index + 1)) {
      found.violated('Attempts are not numbered 1 to the run’s count.', run, numbers);
    }
  }
  const reaps = facts.callsOf(HISTORY_OPS.reap);
  for (const [leaseId, calls] of groupBy(reaps, (call) => call.leaseId)) {
    const took = calls.filter((call) => call.outcome === 'ok' && call.result['graced'] !== true);
    if (took.length > 1) found.violated('Two reapers took one lease.', leaseId, ...took);
    if (calls.some((call) => call.outcome === 'fail')) found.saw('rivalReapers');
  }
  if (new Set(reaps.map((call) => call.process)).size > 1) found.saw('rivalReapers');
  return found.done();
}

/** INV-ST4: at quiescence everything is terminal or parked with a reason. */
export function nothingIsLeftBehind(facts: Facts): Examined {
  const found = new Collector('runsAtQuiescence');
  if (!facts.input.quiescent) return found.done();
  const items = new Map(facts.input.queueItems.map((item) => [item.runId, item]));
  for (const run of facts.input.runs) {
    found.saw('runsAtQuiescence');
    if (isTerminal(run.status)) continue;
    const delayed = items.get(run.id)?.state === 'delayed';
    const parked = isWaiting(run.status) && (run.status !== 'QUEUED' || delayed);
    if (!parked) found.violated('A run is neither ended nor parked.', run, items.get(run.id));
    else if (!namesItsWait(run)) found.violated('A parked run gives no reason.', run);
  }
  return found.done();
}

/** An approval is a name in itself; ADMITTED says nothing of what the run waits for. */
const namesItsWait = (run: { readonly status: RunStatus; readonly reasonCode: string | null }): boolean =>
  isTerminal(run.status) || run.status === 'WAITING_APPROVAL' || run.reasonCode !== null;

function misplaced(run: Snapshot['runs'][number]): string | null {
  switch (PLACE[run.status]) {
    case 'lease':
      return run.hasLease && run.item === null ? null : 'should hold a lease and no item';
    case 'item':
      return run.item !== null && !run.hasLease ? null : 'should have an item and no lease';
    case 'item-delayed':
      return run.item === 'delayed' && !run.hasLease ? null : 'should have a delayed item and no lease';
    case 'never':
      return 'is never at rest in this status';
    case 'nowhere':
      if (run.hasLease || run.item !== null) return 'should have neither item nor lease';
      return namesItsWait(run) ? null : 'waits without a name for it';
  }
}

/** INV-ST5: at every snapshot each non-terminal run has a live lease, a due time or a named wait. */
export function everyRunIsSomewhere(facts: Facts): Examined {
  const found = new Collector('snapshots', 'waitingSeen', 'leasedSeen');
  const leased = new Set(facts.input.leases.map((lease) => lease.runId));
  const items = new Map(facts.input.queueItems.map((item) => [item.runId, item.state]));
  const atTheEnd: Snapshot = {
    atMs: facts.input.nowAtMs,
    runs: facts.input.runs.map((run) => ({
      runId: run.id,
      status: run.status,
      reasonCode: run.reasonCode,
      hasLease: leased.has(run.id),
      item: items.get(run.id) ?? null,
    })),
  };
  found.saw('snapshots', facts.input.snapshots.length);
  for (const snapshot of [...facts.input.snapshots, atTheEnd]) {
    for (const run of snapshot.runs) {
      if (isWaiting(run.status)) found.saw('waitingSeen');
      if (PLACE[run.status] === 'lease') found.saw('leasedSeen');
      const problem = misplaced(run);
      if (problem !== null) found.violated(`A run ${problem}.`, run, { atMs: snapshot.atMs });
    }
  }
  return found.done();
}

/** INV-ST6: finishing is atomic: run, lease or item, attempt and tombstone change together or not at all. */
export function finishingIsAtomic(facts: Facts): Examined {
  const found = new Collector('finishes', 'interruptedFinishes');
  const leases = new Map(facts.input.leases.map((lease) => [lease.runId, lease]));
  const items = new Map(facts.input.queueItems.map((item) => [item.runId, item]));
  const versions = new Map(facts.input.taskVersions.map((version) => [version.runId, version]));
  for (const run of facts.input.runs) {
    const attempts = facts.attemptsByRun.get(run.id) ?? [];
    const running = attempts.filter(
      (attempt) => attempt.status === 'running' || attempt.finishedAtMs === null,
    );
    const lease = leases.get(run.id);
    for (const attempt of running) {
      if (lease?.attemptId !== attempt.id)
        found.violated('An attempt runs without its lease.', attempt, lease);
    }
    if (lease !== undefined && !running.some((attempt) => attempt.id === lease.attemptId)) {
      found.violated('A lease stands for an attempt that has ended.', lease, attempts);
    }
    const outcome = versions.get(run.id)?.outcome;
    if (!isTerminal(run.status)) {
      if (outcome !== undefined && outcome !== null) {
        found.violated('A living run has an outcome.', run, versions.get(run.id));
      }
      continue;
    }
    found.saw('finishes');
    if (lease !== undefined) found.violated('An ended run holds a lease.', run, lease);
    if (items.has(run.id)) found.violated('An ended run has a queue item.', run, items.get(run.id));
    if (run.finishedAtMs === null) found.violated('An ended run has no end.', run);
    if (run.reasonCode === null) found.violated('An ended run gives no reason.', run);
    if (outcome !== undefined && outcome !== run.status) {
      found.violated('An ended run and its version disagree.', run, versions.get(run.id));
    }
  }
  const torn = facts.callsOf(HISTORY_OPS.finish).filter((call) => call.outcome === 'unknown');
  found.saw('interruptedFinishes', torn.length);
  return found.done();
}
