/** INV-EF1 to INV-EF5: side effects, judged by the provider's own log. */
import { HISTORY_OPS } from '@headgate/telemetry';
import { type Call, compareNs } from './calls.js';
import { Collector, groupBy, pairs } from './collect.js';
import type { Facts } from './facts.js';
import { livedOn } from './lease-bounds.js';
import type { Examined, ProviderCall } from './model.js';

/** By operation key where the content carries one, else by what was written where. */
const effectIdentity = (call: ProviderCall): string =>
  call.operationKey ?? JSON.stringify([call.kind, call.target, call.content]);

const visibleByEffect = (facts: Facts): Map<string, ProviderCall[]> =>
  groupBy(
    facts.input.providerLog.filter((call) => call.visible),
    effectIdentity,
  );

/** Whether a call may have reached the provider without its answer reaching us. */
const isAmbiguous = (call: Call): boolean => call.outcome === 'unknown';

/** Accepted, and known to be before the call began. */
const isBefore = (write: Call, call: Call): boolean =>
  write.outcome === 'ok' && write.endNs !== null && write.endNs <= call.startNs;

/** A read that told something: reads change nothing, so `info` is as good as ok. */
const readSomething = (read: Call): boolean =>
  read.outcome !== 'fail' && read.endNs !== null && read.result['kind'] !== 'unreadable';

/** INV-EF1: at most one success per operation key in the provider's log, by content. */
export function effectsHappenOnce(facts: Facts): Examined {
  const found = new Collector('effects', 'ambiguousCalls');
  for (const [identity, calls] of visibleByEffect(facts)) {
    found.saw('effects');
    if (calls.length > 1) found.violated('One operation took effect more than once.', identity, ...calls);
  }
  found.saw('ambiguousCalls', facts.callsOf(HISTORY_OPS.effectCall).filter(isAmbiguous).length);
  return found.done();
}

/** INV-EF2: each call follows a committed intent whose claim was current. */
export function callsFollowIntents(facts: Facts): Examined {
  const found = new Collector('calls', 'refusedIntents');
  const intents = groupBy(facts.callsOf(HISTORY_OPS.intend), (intent) => intent.key);
  for (const list of intents.values()) {
    found.saw('refusedIntents', list.filter((intent) => intent.outcome === 'fail').length);
  }
  const attempts = groupBy(facts.callsOf(HISTORY_OPS.attempt), (attempt) => attempt.key);
  for (const list of attempts.values()) {
    found.saw('refusedIntents', list.filter((attempt) => attempt.outcome === 'fail').length);
  }
  const calls = groupBy(facts.callsOf(HISTORY_OPS.effectCall), (call) => call.key);
  for (const [key, list] of calls) {
    for (const call of list) {
      found.saw('calls');
      const covered = (intents.get(key) ?? []).some(
        (intent) => isBefore(intent, call) && intent.leaseId === call.leaseId,
      );
      if (!covered) found.violated('A call has no committed intent of its claim before it.', call);
      const fenced = attempts.get(key);
      if (
        fenced !== undefined &&
        !fenced.some((attempt) => isBefore(attempt, call) && attempt.leaseId === call.leaseId)
      ) {
        found.violated('A call was made although its fence was not valid just before.', call, ...fenced);
      }
    }
  }
  const known = new Set(facts.input.operations.map((operation) => operation.key));
  for (const seen of facts.input.providerLog) {
    if (seen.operationKey === null) {
      found.violated('The provider was called without an operation key.', seen);
      continue;
    }
    if (!known.has(seen.operationKey))
      found.violated('The provider saw a call that no operation names.', seen);
    const { monoNs } = seen;
    const announced = (calls.get(seen.operationKey) ?? []).some(
      (call) => monoNs === null || call.startNs <= BigInt(monoNs),
    );
    if (!announced) found.violated('The provider saw a call that nobody recorded before it.', seen);
  }
  return found.done();
}

/** Whether its claim had a known successor when the call began: the one call in flight, which INV-EF4 judges. */
function isSuperseded(facts: Facts, call: Call): boolean {
  const takenNs = facts.leaseById.get(call.leaseId ?? '')?.nextClaim?.endNs ?? null;
  return takenNs !== null && call.startNs > takenNs;
}

/** INV-EF3: no "done" without the provider's evidence; ambiguous resolves within bound, retry only after a read. */
export function doneMeansEvidence(facts: Facts): Examined {
  const found = new Collector('confirmed', 'ambiguousCalls', 'readsBeforeRetry');
  const visible = visibleByEffect(facts);
  const reads = groupBy(facts.callsOf(HISTORY_OPS.effectRead), (read) =>
    readSomething(read) ? read.key : null,
  );
  const { nowAtMs } = facts.input;
  const boundMs = facts.settings.ambiguousBoundMs + facts.settings.slackMs;
  for (const operation of facts.input.operations) {
    if (operation.state === 'confirmed') {
      found.saw('confirmed');
      const readThere = (reads.get(operation.key) ?? []).some((read) => read.result['kind'] === 'ours');
      if (!visible.has(operation.key) && !readThere) {
        found.violated('An operation is confirmed and the provider knows nothing of it.', operation);
      }
    }
    const open = operation.state === 'ambiguous' || operation.state === 'attempted';
    if (open && operation.attemptedAtMs !== null && nowAtMs - operation.attemptedAtMs > boundMs) {
      found.violated('An operation stayed ambiguous beyond its bound.', operation, { nowAtMs });
    }
  }
  for (const [key, list] of groupBy(facts.callsOf(HISTORY_OPS.effectCall), (call) => call.key)) {
    const inOrder = [...list].sort((a, b) => compareNs(a.startNs, b.startNs));
    found.saw('ambiguousCalls', inOrder.filter(isAmbiguous).length);
    for (const [first, second] of pairs(inOrder)) {
      if (first.outcome === 'fail' || isSuperseded(facts, second)) continue;
      const read = (reads.get(key) ?? []).some(
        (lookup) =>
          lookup.startNs >= first.startNs && lookup.endNs !== null && lookup.endNs <= second.startNs,
      );
      if (read) found.saw('readsBeforeRetry');
      else found.violated('An operation was called again without a read between.', first, second);
    }
  }
  return found.done();
}

/** INV-EF4: a superseded claim makes at most the one call in flight, with no second visible effect. */
export function supersededClaimsStop(facts: Facts): Examined {
  const found = new Collector('resumedZombies');
  const visible = visibleByEffect(facts);
  const calls = groupBy(facts.callsOf(HISTORY_OPS.effectCall), (call) => call.leaseId);
  for (const lease of facts.leases) {
    const takenNs = lease.nextClaim?.endNs ?? null;
    if (takenNs === null) continue;
    if (livedOn(facts, lease)) found.saw('resumedZombies');
    const late = (calls.get(lease.leaseId) ?? []).filter((call) => call.startNs > takenNs);
    if (late.length > 1) {
      found.violated('A superseded claim went on calling the provider.', lease.attempt, ...late);
    }
    for (const call of late) {
      const effects = call.key === null ? [] : (visible.get(call.key) ?? []);
      if (effects.length > 1)
        found.violated('A superseded claim’s call took effect again.', call, ...effects);
    }
  }
  return found.done();
}

/** INV-EF5: compare-and-set effects never overwrite newer. */
export function nothingNewerIsOverwritten(facts: Facts): Examined {
  const found = new Collector('applied', 'refused');
  for (const call of facts.input.providerLog) {
    if (call.compareAndSet === null) continue;
    found.saw(call.visible ? 'applied' : 'refused');
    if (call.visible && call.compareAndSet.expected !== call.compareAndSet.before) {
      found.violated('A compare-and-set overwrote what it did not expect.', call);
    }
  }
  return found.done();
}
