/**
 * The history checker (proof.md): which invariants a run kept, which it broke, and which it never put to the
 * test. Pure: the same input gives the same report.
 */
import * as effects from './effects.js';
import { type Facts, gatherFacts } from './facts.js';
import * as hints from './hints.js';
import * as intake from './intake.js';
import * as bounds from './lease-bounds.js';
import * as fences from './lease-fences.js';
import {
  type CheckerInput,
  type CheckerSettings,
  type CheckReport,
  type Examined,
  type Finding,
  INVARIANTS,
  type InvariantId,
  type Verdict,
  type Witnessed,
} from './model.js';
import * as state from './state.js';

const CHECKS: Readonly<Record<InvariantId, (facts: Facts) => Examined>> = {
  'INV-IN1': intake.acknowledgedReceiptsExist,
  'INV-IN2': intake.oneRunPerVersion,
  'INV-IN3': intake.idempotencyKeysBind,
  'INV-IN4': intake.runsDescendFromReceipts,
  'INV-LE1': fences.tokensGrow,
  'INV-LE2': fences.claimsFollowAnEnd,
  'INV-LE3': fences.writesCarryTheCurrentLease,
  'INV-LE4': fences.renewalsAreInTime,
  'INV-LE5': bounds.workStartsInsideTrust,
  'INV-LE6': bounds.expiredLeasesAreTaken,
  'INV-LE7': bounds.claimsStayInBounds,
  'INV-LE8': bounds.exclusiveKeysAreExclusive,
  'INV-ST1': state.onlyLegalTransitions,
  'INV-ST2': state.cancelsHold,
  'INV-ST3': state.oneExpiryOneAttempt,
  'INV-ST4': state.nothingIsLeftBehind,
  'INV-ST5': state.everyRunIsSomewhere,
  'INV-ST6': state.finishingIsAtomic,
  'INV-EF1': effects.effectsHappenOnce,
  'INV-EF2': effects.callsFollowIntents,
  'INV-EF3': effects.doneMeansEvidence,
  'INV-EF4': effects.supersededClaimsStop,
  'INV-EF5': effects.nothingNewerIsOverwritten,
  'INV-HI1': hints.redisChangesOnlyLatency,
  'INV-HI2': hints.workStandsInPostgres,
  'INV-HI3': hints.everyEventArrives,
};

/** The plan's defaults (lease timing, periods); a test that shortens them hands in its own. */
export const DEFAULT_SETTINGS: CheckerSettings = {
  ttlMs: 60_000,
  stopMarginMs: 20_000,
  reapPeriodMs: 5_000,
  pollIntervalMs: 1_000,
  ambiguousBoundMs: 180_000,
  slackMs: 2_000,
  clockToleranceMs: 250,
};

function verdictOf(examined: Examined): Verdict {
  if (examined.violations.length > 0) return 'violated';
  return Object.values(examined.counts).some((count) => count === 0) ? 'unknown' : 'holds';
}

/** The worst: one violation violates all, else one that was not put to the test leaves all unknown. */
function worst(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes('violated')) return 'violated';
  return verdicts.length === 0 || verdicts.includes('unknown') ? 'unknown' : 'holds';
}

/**
 * Judges a run by the invariants named; all by default. A drill about leases names those, so that it is not
 * "unknown" for want of a Redis flush.
 */
export function checkHistory(
  input: CheckerInput,
  settings: Partial<CheckerSettings> = {},
  invariants: readonly InvariantId[] = INVARIANTS,
): CheckReport {
  const facts = gatherFacts(input, { ...DEFAULT_SETTINGS, ...settings });
  const findings: Finding[] = [];
  const witnessed: Partial<Record<InvariantId, Witnessed>> = {};
  const verdicts: Verdict[] = [];
  for (const invariant of invariants) {
    const examined = CHECKS[invariant](facts);
    const verdict = verdictOf(examined);
    verdicts.push(verdict);
    witnessed[invariant] = { verdict, counts: examined.counts };
    for (const { message, evidence } of examined.violations) findings.push({ invariant, message, evidence });
  }
  return { verdict: worst(verdicts), findings, witnessed };
}

/** A report for people: what failed first, then what was not put to the test. */
export function describeReport(report: CheckReport): string {
  const lines = [`verdict: ${report.verdict}`];
  for (const finding of report.findings) {
    const evidence = JSON.stringify(finding.evidence, (_key, value: unknown) =>
      typeof value === 'bigint' ? value.toString() : value,
    );
    lines.push(`${finding.invariant} violated: ${finding.message} ${evidence}`);
  }
  for (const [invariant, { verdict, counts }] of Object.entries(report.witnessed)) {
    if (verdict !== 'unknown') continue;
    const missing = Object.keys(counts).filter((name) => counts[name] === 0);
    lines.push(`${invariant} unknown: the run contained no ${missing.join(', no ')}`);
  }
  return lines.join('\n');
}
