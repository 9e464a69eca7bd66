/**
 * One signal against the state, in the order in which the questions are asked:
 *
 *  1. Was this delivery seen before?            DUPLICATE_DELIVERY, DUPLICATE_HOOK
 *  2. Is it the echo of our own commit?         SELF_TRIGGERED
 *  3. Was it decided without state?             the verdict
 *  4. Does it name work at all?                 NO_ROUTE, TASK_CONTRACT_INVALID
 *  5. May the tenant work?                      TENANT_SUSPENDED
 *  6. Was the task cancelled?                   TASK_CANCELLED
 *  7. Is this version known?                    DUPLICATE_WORK; a schedule found NOTHING_FOUND
 *  8. Does a newer version stand?               SUPERSEDED
 *  9. Does the route wait for more signals?     DEBOUNCED
 * 10. Do our own runs go round in a circle?     HOP_LIMIT, WORK_KEY_EXHAUSTED, RATE_EXCEEDED
 * 11. Is another version under way?             the route's onNewVersion
 * 12. May one more pull request be opened?      OPEN_PULL_REQUEST_LIMIT
 * 13. Is there room in the queue?               QUEUE_FULL
 * 14. Else                                      ADMITTED (or APPROVAL_REQUIRED)
 *
 * A route that only observes is told what it would have got: OBSERVED, and nothing is made.
 *
 * A person's retry or reset leaves out 2, 6, 7, 9 and 10; a reset leaves out 8 as well, which makes it the way out of a
 * wrong time in the source. Identity comes before order, so that a late repeat of a known version is told its
 * run and not that it is old.
 */
import type { ReasonCode } from '../reasons.js';
import { quoted } from '../sentences.js';
import type { VersionPoint } from '../source-order.js';
import { checkWork, type WorkIdentity } from '../work.js';
import type { Asked } from './admit.js';
import { aftermath } from './aftermath.js';
import { againByPerson, byRunsUnderWay, newerStanding, superseded } from './beside-others.js';
import { byDebounce, withoutItsWaiting } from './debounce.js';
import { type DecisionParts, decide } from './decision.js';
import { echoOfOurs, guarded } from './guard.js';
import { deliveryKey, taskKey } from './keys.js';
import { standingLatch } from './latch.js';
import { isNews } from './news.js';
import type {
  AdmissionState,
  AdmissionWrite,
  Candidate,
  Decision,
  FirstDelivery,
  KnownVersion,
  Verdict,
} from './types.js';

/** How long a deferred signal waits when nobody named a time. */
export const DEFER_MS = 60_000;

/** Decides one candidate. The state is not changed: `evolve` says what it is afterwards. */
export function decideOne(state: AdmissionState, candidate: Candidate): Decision {
  const decision = decided(state, candidate);
  const also = aftermath(state, decision);
  return also.length === 0 ? decision : { ...decision, writes: [...decision.writes, ...also] };
}

function decided(state: AdmissionState, candidate: Candidate): Decision {
  const isDelivery = candidate.parentReceiptId === null && !candidate.isFurtherRoute;
  const first = isDelivery ? state.deliveries.get(deliveryKey(candidate.signal)) : undefined;
  if (first !== undefined) return repeated(candidate, first, 'DUPLICATE_DELIVERY', 'delivery-dedupe');
  const heard = heardBefore(state, candidate);
  if (heard !== undefined) return repeated(candidate, heard, 'DUPLICATE_HOOK', 'command-dedupe');

  const echo = echoOfOurs(state, candidate);
  if (echo !== null) return echo;

  const { verdict, route, work } = candidate;
  if (verdict !== null && verdict.outcome !== 'accept') return byVerdict(state, candidate, verdict);
  if (route === null) {
    return decide(candidate, { outcome: 'reject', reasonCode: 'NO_ROUTE', rule: 'route' });
  }
  const problem = problemWith(work);
  if (work === null || problem !== null) {
    return decide(candidate, {
      outcome: 'reject',
      reasonCode: 'TASK_CONTRACT_INVALID',
      rule: 'work-contract',
      facts: { detail: problem },
    });
  }
  const loaded = state.tasks.get(taskKey(candidate.tenant.id, work.workKey));
  if (loaded === undefined) throw new Error('the task of a candidate was not loaded under its lock');
  const task = withoutItsWaiting(loaded, candidate);
  const point: VersionPoint = {
    inputVersion: work.inputVersion,
    sourceAt: candidate.signal.sourceAt,
    parentVersions: candidate.signal.parentVersions,
  };
  const asked: Asked = { state, candidate, route, task, point };
  return route.mode === 'observe' ? onlyObserved(asked) : withoutItsLatch(asked);
}

/** What the route would have done, with nothing made of it: no run, no latch, nothing that waits. */
function onlyObserved(asked: Asked): Decision {
  const decision = withoutItsLatch({ ...asked, candidate: { ...asked.candidate, isDebounced: true } });
  if (decision.outcome !== 'accept' && decision.outcome !== 'defer') return decision;
  const { candidate, task } = asked;
  return decide(candidate, {
    outcome: 'no-work',
    reasonCode: 'OBSERVED',
    rule: 'route.mode',
    facts: { detail: `It would have been ${decision.reasonCode} (${decision.rule}).` },
    taskId: task.taskId,
    generation: decision.generation,
    metRunId: decision.existing ? decision.runId : null,
    writes: standingLatch(task, candidate),
  });
}

/**
 * The latched version asks to be let in. It no longer waits, whatever is decided now: it must not stand in its own
 * way, nor be left behind as a latch that nothing will promote again.
 */
function withoutItsLatch(asked: Asked): Decision {
  const { candidate, task } = asked;
  if (task.latch === null || task.latch.receiptId !== candidate.parentReceiptId) return byTask(asked);
  const decision = byTask({ ...asked, task: { ...task, latch: null } });
  if (decision.writes.some((write) => write.kind === 'latch')) return decision;
  const cleared: AdmissionWrite = { kind: 'latch', taskId: task.taskId, latch: null, candidate: null };
  return { ...decision, writes: [cleared, ...decision.writes] };
}

/** What another delivery brought: a second hook, a scan, a command that was edited and sent again. */
function heardBefore(state: AdmissionState, candidate: Candidate) {
  const { heardAs, signal } = candidate;
  if (heardAs == null || !isNews(candidate)) return undefined;
  return state.deliveries.get(deliveryKey({ source: signal.source, eventId: heardAs }));
}

/** The same trigger came twice: it is answered with what its first receipt led to. */
function repeated(
  candidate: Candidate,
  first: FirstDelivery,
  reasonCode: 'DUPLICATE_DELIVERY' | 'DUPLICATE_HOOK',
  rule: string,
): Decision {
  return decide(candidate, {
    outcome: 'reject',
    reasonCode,
    rule,
    runId: first.runId,
    taskId: first.taskId,
    existing: true,
  });
}

function byVerdict(state: AdmissionState, candidate: Candidate, verdict: Verdict): Decision {
  const { work } = candidate;
  const task = work === null ? undefined : state.tasks.get(taskKey(candidate.tenant.id, work.workKey));
  const parts: DecisionParts = {
    outcome: verdict.outcome,
    reasonCode: verdict.reasonCode,
    rule: verdict.rule ?? VERDICT_RULES[verdict.reasonCode] ?? 'verdict',
    facts: { detail: verdict.detail },
    taskId: task?.taskId ?? null,
    generation: task?.generation ?? null,
    retryAfter: verdict.retryAfter,
  };
  if (verdict.outcome !== 'defer') return decide(candidate, parts);
  const dueAt = verdict.retryAfter ?? new Date(state.now.getTime() + DEFER_MS);
  return decide(candidate, {
    ...parts,
    retryAfter: dueAt,
    writes: [{ kind: 'defer', candidate, dueAt, reasonCode: verdict.reasonCode }],
  });
}

/** Which rule stands behind a verdict that names none. */
const VERDICT_RULES: Readonly<Partial<Record<ReasonCode, string>>> = {
  PING: 'event.ping',
  MALFORMED: 'event.payload',
  UNKNOWN_EVENT: 'event.type',
  STALE_EVENT: 'source.replayWindow',
  SIGNATURE_INVALID: 'source.signature',
  SELF_TRIGGERED: 'loop-guard',
  HOP_LIMIT: 'loop-guard',
  NO_ROUTE: 'route.on',
  NOT_ELIGIBLE: 'route.when',
  OUT_OF_SCOPE: 'route.repositories',
  TASK_CONTRACT_INVALID: 'work-contract',
  TENANT_SUSPENDED: 'tenant.suspended',
  NOTHING_FOUND: 'scan',
  OVERLAP_SKIPPED: 'schedule.overlap',
  MISSED_CATCHUP: 'schedule.catchUp',
};

function problemWith(work: WorkIdentity | null): string | null {
  if (work === null) return 'No work key could be derived from the signal.';
  const check = checkWork(work);
  return check.ok ? null : check.problem;
}

function byTask(asked: Asked): Decision {
  const { candidate, route, task, point } = asked;
  const here = { taskId: task.taskId, generation: task.generation };
  if (candidate.tenant.suspended) {
    return decide(candidate, {
      ...here,
      outcome: 'reject',
      reasonCode: 'TENANT_SUSPENDED',
      rule: 'tenant.suspended',
    });
  }
  if (candidate.directive.kind !== 'none') return againByPerson(asked, candidate.directive);
  if (task.cancelled) {
    return decide(candidate, {
      ...here,
      outcome: 'reject',
      reasonCode: 'TASK_CANCELLED',
      rule: 'task-cancelled',
    });
  }
  const known = task.versions.get(point.inputVersion);
  if (known !== undefined && holdsItsVersion(known, candidate)) {
    if (candidate.signal.trigger === 'schedule') return unchanged(asked, known);
    return decide(candidate, {
      outcome: 'reject',
      reasonCode: 'DUPLICATE_WORK',
      rule: 'work-dedupe',
      taskId: task.taskId,
      generation: known.generation,
      runId: known.runId,
      existing: true,
    });
  }
  const newer = newerStanding(point, task);
  if (newer !== null) return superseded(asked, newer);
  return byDebounce(asked) ?? guarded(asked) ?? byRunsUnderWay(asked, route, known);
}

/** A schedule looked at its source and saw what it had seen before. */
function unchanged({ candidate, task, point }: Asked, known: KnownVersion): Decision {
  return decide(candidate, {
    outcome: 'no-work',
    reasonCode: 'NOTHING_FOUND',
    rule: 'schedule.unchanged',
    facts: { detail: `It still stands at ${quoted(point.inputVersion)}.` },
    taskId: task.taskId,
    generation: known.generation,
    metRunId: known.runId,
  });
}

/**
 * Whether a known version keeps its place. A run that ended NO_WORK or POLICY_DENIED did nothing, so the next
 * signal may ask again; but a scan only sees the same version once more, and that is no news. A person who asks by a
 * command or a button gets another run of what has ended; while it lives, they have found their run.
 */
function holdsItsVersion(known: KnownVersion, candidate: Candidate): boolean {
  const isAskedAgain = candidate.cause?.isRequest === true && known.outcome !== null;
  const isFreed = known.outcome === 'NO_WORK' || known.outcome === 'POLICY_DENIED' || isAskedAgain;
  const isLookAgain = candidate.signal.via === 'scan' || candidate.signal.via === 'poll';
  return !isFreed || isLookAgain;
}
