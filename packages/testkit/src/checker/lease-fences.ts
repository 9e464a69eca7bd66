/** INV-LE1 to INV-LE4: who holds a lease, and that only the holder's writes are accepted. */
import { isCancelling, isLeased, type RunStatus } from '@headgate/domain';
import { HISTORY_OPS } from '@headgate/telemetry';
import { instantMs } from './calls.js';
import { Collector, pairs } from './collect.js';
import { type Facts, knownExpiryMs, type LeaseLife } from './facts.js';
import type { Examined } from './model.js';

/** INV-LE1: fencing tokens of committed claims per run grow; (fencing token, lease id) is unique. */
export function tokensGrow(facts: Facts): Examined {
  const found = new Collector('takeovers');
  for (const attempts of facts.attemptsByRun.values()) {
    for (const [before, after] of pairs(attempts)) {
      found.saw('takeovers');
      if (BigInt(after.fencingToken) <= BigInt(before.fencingToken)) {
        found.violated('A later claim of a run has no larger fencing token.', before, after);
      }
    }
  }
  const fences = new Map<string, unknown>();
  for (const attempt of facts.input.attempts) {
    const fence = `${attempt.fencingToken} ${attempt.leaseId}`;
    const twin = fences.get(fence);
    if (twin !== undefined) found.violated('Two claims carry the same fence.', twin, attempt);
    fences.set(fence, attempt);
  }
  for (const claim of facts.callsOf(HISTORY_OPS.claim)) {
    if (claim.outcome !== 'ok' || claim.leaseId === null) continue;
    const lease = facts.leaseById.get(claim.leaseId);
    if (lease === undefined) found.violated('An acknowledged claim left no attempt.', claim);
    else if (claim.fencingToken !== null && lease.attempt.fencingToken !== claim.fencingToken) {
      found.violated('An attempt has another fencing token than its claim was told.', claim, lease.attempt);
    }
  }
  return found.done();
}

/** INV-LE2: a claim commits only after its predecessor expired (database time) or was released. */
export function claimsFollowAnEnd(facts: Facts): Examined {
  const found = new Collector('takeoversAfterExpiry');
  for (const lease of facts.leases) {
    const { attempt, next } = lease;
    const endedAtMs = attempt.finishedAtMs;
    if (next !== null && endedAtMs === null) {
      found.violated('A run was claimed again while its attempt before had not ended.', attempt, next);
    } else if (next !== null && endedAtMs !== null && next.startedAtMs < endedAtMs) {
      found.violated('A run was claimed before its attempt before ended.', attempt, next);
    }
    if (attempt.status !== 'lost' || endedAtMs === null) continue;
    const reapedAtMs = (lease.reap === null ? null : instantMs(lease.reap, 'reapedAt')) ?? endedAtMs;
    const expiryMs = knownExpiryMs(facts, lease, reapedAtMs);
    if (expiryMs === null) continue;
    if (next !== null) found.saw('takeoversAfterExpiry');
    // The instants are read by different statements of one transaction each.
    if (reapedAtMs + facts.settings.clockToleranceMs < expiryMs) {
      found.violated('A lease was taken before it expired.', attempt, { reapedAtMs, expiryMs }, lease.reap);
    }
  }
  return found.done();
}

const holdsLease = (status: RunStatus): boolean => isLeased(status) || isCancelling(status);
const FENCED_WRITES = [
  HISTORY_OPS.stage,
  HISTORY_OPS.finish,
  HISTORY_OPS.intend,
  HISTORY_OPS.attempt,
] as const;

/** True when the lease had surely ended before a write that began then. */
function endedBefore(lease: LeaseLife, committedAtMs: number | null, startNs: bigint): boolean {
  const successorSeenNs = lease.nextClaim?.endNs ?? null;
  if (successorSeenNs !== null && startNs > successorSeenNs) return true;
  const reapSeenNs = lease.reap?.endNs ?? null;
  if (reapSeenNs !== null && startNs > reapSeenNs) return true;
  if (committedAtMs === null) return false;
  if (lease.next !== null && committedAtMs >= lease.next.startedAtMs) return true;
  const { status, finishedAtMs } = lease.attempt;
  return status === 'lost' && finishedAtMs !== null && committedAtMs > finishedAtMs;
}

/** INV-LE3: each accepted write carries the lease current at its commit. */
export function writesCarryTheCurrentLease(facts: Facts): Examined {
  const found = new Collector('refusedLateWrites');
  for (const write of facts.callsOf(...FENCED_WRITES)) {
    if (write.leaseId === null) continue;
    const lease = facts.leaseById.get(write.leaseId);
    if (write.outcome === 'ok' && (lease === undefined || lease.runId !== write.run)) {
      found.violated('A write was accepted with a lease its run never had.', write);
    }
    if (lease === undefined) continue;
    const late = endedBefore(lease, instantMs(write, 'committedAt'), write.startNs);
    if (late && write.outcome === 'ok') {
      found.violated('A write was accepted after its lease had ended.', write, lease.attempt, lease.next);
    }
    if (late && write.outcome === 'fail') found.saw('refusedLateWrites');
  }
  for (const chain of facts.chains.values()) {
    let current: string | null = null;
    /** A transaction that ends a lease may go on writing under its name. */
    let ending: { leaseId: string | null; xid: string } | null = null;
    for (const step of chain.transitions) {
      if (step.to === 'CLAIMED') {
        if (step.leaseId === null) found.violated('A claim event names no lease.', step);
        current = step.leaseId;
      } else if (step.leaseId !== null && step.leaseId !== current) {
        const sameTransaction = ending?.leaseId === step.leaseId && ending.xid === step.xid;
        if (!sameTransaction) {
          found.violated('An event carries a lease that was not current.', step, { current });
        }
      }
      if (current !== null && !holdsLease(step.to)) {
        ending = { leaseId: current, xid: step.xid };
        current = null;
      }
    }
  }
  return found.done();
}

/** INV-LE4: no renewal at or after the expiry it replaces. */
export function renewalsAreInTime(facts: Facts): Examined {
  const found = new Collector('renewals', 'refusedRenewals');
  for (const lease of facts.leases) {
    for (const renewal of lease.renewals) {
      if (renewal.outcome === 'fail') found.saw('refusedRenewals');
      if (renewal.outcome !== 'ok') continue;
      const renewedAtMs = instantMs(renewal, 'renewedAt');
      if (renewedAtMs === null) continue;
      const replacedMs = instantMs(renewal, 'previousExpiresAt') ?? knownExpiryMs(facts, lease, renewedAtMs);
      if (replacedMs === null) continue;
      found.saw('renewals');
      if (renewedAtMs >= replacedMs) {
        found.violated('A lease was renewed at or after its expiry.', renewal, { renewedAtMs, replacedMs });
      }
    }
  }
  return found.done();
}
