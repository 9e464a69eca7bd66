/** INV-LE5 to INV-LE8: how long a lease is trusted, how soon it is reaped, how many there may be. */
import { isCancelling, isLeased } from '@headgate/domain';
import { HISTORY_OPS } from '@headgate/telemetry';
import { claimBatches, instantMs } from './calls.js';
import { Collector, groupBy } from './collect.js';
import { type Facts, knownExpiryMs, type LeaseLife } from './facts.js';
import type { Examined } from './model.js';

const nsOfMs = (ms: number): bigint => BigInt(Math.round(ms * 1e6));

/** INV-LE5: no guarded work starts after the worker's own trust window. */
export function workStartsInsideTrust(facts: Facts): Examined {
  const found = new Collector('guardedStarts', 'lapsedTrust');
  const windowNs = nsOfMs(facts.settings.ttlMs - facts.settings.stopMarginMs);
  const trustedBy = groupBy(facts.callsOf(HISTORY_OPS.claim, HISTORY_OPS.renew), (call) =>
    call.outcome === 'ok' && call.leaseId !== null ? `${call.process} ${call.leaseId}` : null,
  );
  for (const start of facts.callsOf(HISTORY_OPS.workStart, HISTORY_OPS.effectCall)) {
    // Feedback and notifications run under their own row's claim, without a lease.
    if (start.leaseId === null) continue;
    found.saw('guardedStarts');
    const grants = (trustedBy.get(`${start.process} ${start.leaseId}`) ?? []).filter(
      (grant) => grant.endNs !== null && grant.endNs <= start.startNs,
    );
    if (grants.length === 0) {
      found.violated('Guarded work started without a claim in its process.', start);
      continue;
    }
    // Trust counts from before the renewal was sent, however late its answer came.
    const trustEndNs = grants.reduce((latest, grant) => max(latest, grant.startNs + windowNs), 0n);
    if (start.startNs > trustEndNs) {
      found.violated('Guarded work started after the trust window.', start, grants.at(-1));
    }
  }
  found.saw('lapsedTrust', facts.callsOf(HISTORY_OPS.trustLost).length);
  for (const lease of facts.leases) if (livedOn(facts, lease)) found.saw('lapsedTrust');
  return found.done();
}

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** The process still acted for a lease that a successor had already taken: a resumed zombie. */
export function livedOn(facts: Facts, lease: LeaseLife): boolean {
  const takenNs = lease.nextClaim?.endNs ?? null;
  if (takenNs === null || lease.claim === null) return false;
  const { process } = lease.claim;
  return facts.calls.some(
    (call) => call.process === process && call.leaseId === lease.leaseId && call.startNs > takenNs,
  );
}

/** INV-LE6: an expired lease is taken within TTL + reap period + slack (one TTL more after MASS_EXPIRY). */
export function expiredLeasesAreTaken(facts: Facts): Examined {
  const found = new Collector('expiries');
  const { ttlMs, reapPeriodMs, slackMs } = facts.settings;
  const graced = new Set(
    facts.input.runEvents.filter((event) => event.reasonCode === 'MASS_EXPIRY').map((event) => event.runId),
  );
  // TTL runs from the last renewal to the expiry; from the expiry on there is the reap period and the slack.
  const boundMs = (runId: string): number => reapPeriodMs + slackMs + (graced.has(runId) ? ttlMs : 0);
  for (const lease of facts.leases) {
    const endedAtMs = lease.attempt.finishedAtMs;
    if (lease.attempt.status !== 'lost' || endedAtMs === null) continue;
    const toldMs = lease.reap === null ? null : instantMs(lease.reap, 'expiredAt');
    // A renewal nobody heard the answer of may have moved the expiry by one TTL.
    const unheard = lease.renewals.some((renewal) => renewal.outcome === 'unknown') ? ttlMs : 0;
    const knownMs = knownExpiryMs(facts, lease, endedAtMs);
    const expiryMs = toldMs ?? (knownMs === null ? null : knownMs + unheard);
    if (expiryMs === null) continue;
    found.saw('expiries');
    if (endedAtMs - expiryMs > boundMs(lease.runId)) {
      found.violated('An expired lease stood too long.', lease.attempt, {
        expiryMs,
        endedAtMs,
        boundMs: boundMs(lease.runId),
      });
    }
  }
  for (const row of facts.input.leases) {
    if (facts.input.nowAtMs - row.expiresAtMs > boundMs(row.runId)) {
      found.violated('A lease still stands long after its expiry.', row, { nowAtMs: facts.input.nowAtMs });
    }
  }
  return found.done();
}

/**
 * When a lease stops using a slot of its worker. One that is lost has lapsed in its worker by a margin before its expiry,
 * reaped or not; and one under which no work began used none: its claim was answered when its time was over already.
 */
function slotEndMs(facts: Facts, lease: LeaseLife): number {
  const { status, finishedAtMs, startedAtMs } = lease.attempt;
  const endedAtMs = finishedAtMs ?? facts.input.nowAtMs;
  if (status !== 'lost') return endedAtMs;
  const began = facts.callsOf(HISTORY_OPS.workStart, HISTORY_OPS.effectCall);
  if (!began.some((call) => call.leaseId === lease.leaseId)) return startedAtMs;
  const expiryMs = knownExpiryMs(facts, lease, endedAtMs);
  return expiryMs === null ? endedAtMs : Math.min(endedAtMs, expiryMs - facts.settings.stopMarginMs);
}

interface Interval {
  readonly lease: LeaseLife;
  readonly fromMs: number;
  readonly toMs: number;
}

/** The most that hold at once; an end at an instant comes before a start at it. */
function peak(intervals: readonly Interval[]): readonly Interval[] {
  let most: readonly Interval[] = [];
  for (const { fromMs } of intervals) {
    const together = intervals.filter((one) => one.fromMs <= fromMs && fromMs < one.toMs);
    if (together.length > most.length) most = together;
  }
  return most;
}

/** INV-LE7: rows per claim <= limit, in flight <= slots. */
export function claimsStayInBounds(facts: Facts): Examined {
  const found = new Collector('fullWorkers', 'claimBatches');
  for (const batch of claimBatches(facts.input.history)) {
    if (batch.rows > 0) found.saw('claimBatches');
    if (batch.rows > batch.limit) found.violated('A claim took more rows than its limit.', batch);
  }
  const byWorker = groupBy(facts.leases, (lease) => lease.attempt.workerId);
  for (const worker of facts.input.workers) {
    const intervals = (byWorker.get(worker.id) ?? []).map((lease) => ({
      lease,
      fromMs: lease.attempt.startedAtMs,
      toMs: slotEndMs(facts, lease),
    }));
    const most = peak(intervals);
    if (most.length === worker.slots) found.saw('fullWorkers');
    if (most.length > worker.slots) {
      const together = most.map(({ lease: { attempt }, fromMs, toMs }) => ({ attempt, fromMs, toMs }));
      found.violated('A worker held more leases than it has slots.', worker, ...together);
    }
  }
  return found.done();
}

/** INV-LE8: at most one active run per exclusive concurrency key. */
export function exclusiveKeysAreExclusive(facts: Facts): Examined {
  const found = new Collector('contendedKeys');
  const holders = new Map<string, LeaseLife[]>();
  for (const lease of facts.leases) {
    for (const key of facts.runById.get(lease.runId)?.exclusiveKeys ?? []) {
      holders.set(key, [...(holders.get(key) ?? []), lease]);
    }
  }
  for (const [key, leases] of holders) {
    if (new Set(leases.map((lease) => lease.runId)).size > 1) found.saw('contendedKeys');
    if (facts.input.eventOrder === 'xid') overlapsInTime(facts, key, leases, found);
  }
  if (facts.input.eventOrder === 'commit') overlapsInCommitOrder(facts, found);
  return found.done();
}

function overlapsInTime(facts: Facts, key: string, leases: readonly LeaseLife[], found: Collector): void {
  const endMs = (lease: LeaseLife): number => lease.attempt.finishedAtMs ?? facts.input.nowAtMs;
  const inOrder = [...leases].sort((a, b) => a.attempt.startedAtMs - b.attempt.startedAtMs);
  let longest: LeaseLife | null = null;
  for (const lease of inOrder) {
    if (longest !== null && longest.runId !== lease.runId) {
      const sharedMs = Math.min(endMs(longest), endMs(lease)) - lease.attempt.startedAtMs;
      if (sharedMs > facts.settings.clockToleranceMs) {
        found.violated('Two runs held one exclusive key at once.', key, longest.attempt, lease.attempt);
      }
    }
    if (longest === null || endMs(lease) > endMs(longest)) longest = lease;
  }
}

function overlapsInCommitOrder(facts: Facts, found: Collector): void {
  const holder = new Map<string, string>();
  for (const event of facts.input.runEvents) {
    if (event.runId === null || event.to === null || event.from === event.to) continue;
    for (const key of facts.runById.get(event.runId)?.exclusiveKeys ?? []) {
      const other = holder.get(key);
      if (event.to === 'CLAIMED') {
        if (other !== undefined && other !== event.runId) {
          found.violated('A run was claimed while another held its exclusive key.', key, other, event);
        }
        holder.set(key, event.runId);
      } else if (other === event.runId && !isLeased(event.to) && !isCancelling(event.to)) holder.delete(key);
    }
  }
}
