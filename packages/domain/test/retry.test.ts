import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DEFAULT_BACKOFF_MS,
  DEFAULT_RETRY,
  decideRetry,
  NO_FAILURES,
  RATE_LIMIT_DEADLINE_MS,
  REASON_CODES,
  type ReasonCode,
  type RetryCounters,
  type RetryInput,
  reasonOf,
} from '../src/index.js';

const ask = (reasonCode: ReasonCode, change: Partial<RetryInput> = {}) =>
  decideRetry({
    reasonCode,
    counters: NO_FAILURES,
    policy: DEFAULT_RETRY,
    sinceFirstClaimMs: 0,
    random: 0.5,
    ...change,
  });

/** Fails with the same code until the run is given up; how many attempts that took. */
function attemptsUntilFailed(reasonCode: ReasonCode): number {
  let counters: RetryCounters = NO_FAILURES;
  for (let attempts = 1; attempts <= 50; attempts += 1) {
    const decision = ask(reasonCode, { counters });
    if (decision.kind === 'fail') return attempts;
    counters = decision.counters;
  }
  return Number.POSITIVE_INFINITY;
}

describe('Q17: retry goes by reason code', () => {
  it.each([
    'WORKER_LOST',
    'SANDBOX_START_TIMEOUT',
    'PROVIDER_RATE_LIMIT',
    'GIT_CLONE_FAILED_TRANSIENT',
  ] as const)('Q17: %s is retried', (code) => expect(ask(code).kind).toBe('retry'));
  it.each([
    'POLICY_DENIED',
    'TASK_CONTRACT_INVALID',
    'VERIFIER_FAILED',
    'JUDGE_REJECTED',
    'CANCELLED_BY_USER',
  ] as const)('Q17: %s is not retried, and keeps its own code', (code) => {
    expect(ask(code)).toMatchObject({ kind: 'fail', reasonCode: code, chargedTo: null });
  });

  it('Q17: every code of the catalogue has an answer that agrees with its retry class', () => {
    for (const code of REASON_CODES) {
      const isRetried = reasonOf(code).retry !== 'none';
      expect(ask(code).kind).toBe(isRetried ? 'retry' : 'fail');
    }
  });
});

describe('ceilings', () => {
  it('each cause has its own: 3 application failures, 5 of the infrastructure, 3 lost leases', () => {
    expect(attemptsUntilFailed('AGENT_FAILED')).toBe(3);
    expect(attemptsUntilFailed('SANDBOX_FAILED')).toBe(5);
    expect(attemptsUntilFailed('WORKER_LOST')).toBe(3);
  });

  it('failures of one cause do not use up the attempts of another', () => {
    const counters = { ...NO_FAILURES, infrastructure: 4, leaseLost: 2 };
    expect(ask('AGENT_FAILED', { counters })).toMatchObject({ kind: 'retry', chargedTo: 'application' });
  });

  it('I13: used-up attempts end ATTEMPTS_EXHAUSTED, with a dead letter', () => {
    expect(ask('AGENT_FAILED', { counters: { ...NO_FAILURES, application: 2 } })).toMatchObject({
      kind: 'fail',
      reasonCode: 'ATTEMPTS_EXHAUSTED',
      deadLetter: true,
      counters: { application: 3 },
    });
  });

  it('Q24: a drain is retried at once and charged to nothing, however often', () => {
    const counters = { application: 2, infrastructure: 4, leaseLost: 2, rateLimit: 9 };
    expect(ask('WORKER_DRAINED', { counters })).toEqual({
      kind: 'retry',
      delayMs: 0,
      counters,
      chargedTo: null,
    });
  });

  it('a hold hands the run back uncharged until its time', () => {
    expect(ask('FROZEN', { retryAfterMs: 7_000 })).toMatchObject({
      kind: 'retry',
      delayMs: 7_000,
      chargedTo: null,
      counters: NO_FAILURES,
    });
    expect(ask('BREAKER_OPEN')).toMatchObject({ kind: 'retry', delayMs: 60_000, chargedTo: null });
  });

  it('Q18: an exhausted budget ends the run: of money with COST_LIMIT, of anything else as used-up attempts', () => {
    const spent = (kind: 'modelCostUsd' | 'ciMinutes', used: number) => ({
      budgets: [{ kind, used, limit: 3 }],
    });
    expect(ask('AGENT_FAILED', spent('modelCostUsd', 3))).toMatchObject({ reasonCode: 'COST_LIMIT' });
    expect(ask('AGENT_FAILED', spent('ciMinutes', 4))).toMatchObject({ reasonCode: 'ATTEMPTS_EXHAUSTED' });
    expect(ask('AGENT_FAILED', spent('ciMinutes', 2))).toMatchObject({ kind: 'retry' });
  });
});

it('I13: only what a person has to look at becomes a dead letter', () => {
  for (const code of ['VERIFIER_FAILED', 'JUDGE_REJECTED', 'COST_LIMIT', 'TASK_CONTRACT_INVALID'] as const) {
    expect(ask(code)).toMatchObject({ kind: 'fail', deadLetter: true });
  }
  for (const code of ['SOURCE_MOVED', 'TARGET_CLOSED', 'POLICY_DENIED', 'CANCELLED_BY_USER'] as const) {
    expect(ask(code)).toMatchObject({ kind: 'fail', deadLetter: false });
  }
});

describe('Q18: back-off', () => {
  it('Q18: grows 30 s, 2 min, 10 min, 30 min and then stays', () => {
    expect(DEFAULT_BACKOFF_MS).toEqual([30_000, 120_000, 600_000, 1_800_000]);
    const policy = { ...DEFAULT_RETRY, maxInfrastructure: 9 };
    const delays = [0, 1, 2, 3, 4, 7].map((infrastructure) => {
      const decision = ask('SANDBOX_FAILED', { policy, counters: { ...NO_FAILURES, infrastructure } });
      return decision.kind === 'retry' ? decision.delayMs : null;
    });
    expect(delays).toEqual([30_000, 120_000, 600_000, 1_800_000, 1_800_000, 1_800_000]);
  });

  it('Q18: causes that take turns go on from the longer wait', () => {
    const decision = ask('AGENT_FAILED', { counters: { ...NO_FAILURES, infrastructure: 1, leaseLost: 1 } });
    expect(decision).toMatchObject({ delayMs: 600_000 });
  });

  it('Q18: jitter stays within 20 % and spreads over that range', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (random) => {
        const decision = ask('AGENT_FAILED', { random });
        expect(decision).toMatchObject({ kind: 'retry' });
        if (decision.kind !== 'retry') return;
        expect(decision.delayMs).toBeGreaterThanOrEqual(24_000);
        expect(decision.delayMs).toBeLessThanOrEqual(36_000);
      }),
    );
    expect(ask('AGENT_FAILED', { random: 0 })).toMatchObject({ delayMs: 24_000 });
    expect(ask('AGENT_FAILED', { random: 0.999 })).toMatchObject({ delayMs: 35_988 });
  });

  it('a configured list is used as it is, and an empty one means the default', () => {
    expect(ask('AGENT_FAILED', { policy: { ...DEFAULT_RETRY, backoffMs: [1_000] } })).toMatchObject({
      delayMs: 1_000,
    });
    expect(ask('AGENT_FAILED', { policy: { ...DEFAULT_RETRY, backoffMs: [] } })).toMatchObject({
      delayMs: 30_000,
    });
  });
});

describe('Q33: provider 429', () => {
  const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

  it('Q33: never calls again before Retry-After, and not long after it', () => {
    fc.assert(
      fc.property(
        unit,
        fc.integer({ min: 0, max: 3_600_000 }),
        fc.nat(6),
        (random, retryAfterMs, rateLimit) => {
          const decision = ask('PROVIDER_RATE_LIMIT', {
            random,
            retryAfterMs,
            counters: { ...NO_FAILURES, rateLimit },
          });
          expect(decision.kind).toBe('retry');
          if (decision.kind !== 'retry') return;
          expect(decision.delayMs).toBeGreaterThanOrEqual(retryAfterMs);
          expect(decision.delayMs).toBeLessThanOrEqual(Math.max(retryAfterMs, 1_800_000) + 12_000);
          expect(decision.counters).toMatchObject({ application: 0, infrastructure: 0, leaseLost: 0 });
        },
      ),
    );
  });

  it('is bounded by a deadline and not by a number', () => {
    const counters = { ...NO_FAILURES, rateLimit: 500 };
    expect(ask('PROVIDER_RATE_LIMIT', { counters })).toMatchObject({ kind: 'retry' });
    expect(
      ask('PROVIDER_RATE_LIMIT', {
        retryAfterMs: 60_000,
        sinceFirstClaimMs: RATE_LIMIT_DEADLINE_MS - 30_000,
      }),
    ).toMatchObject({ kind: 'fail', reasonCode: 'PROVIDER_RATE_LIMIT', deadLetter: true });
  });
});

it('Q6: counters never shrink, and a failure is charged to at most one of them, by one', () => {
  const count = fc.nat(6);
  fc.assert(
    fc.property(
      fc.constantFrom(...REASON_CODES),
      fc.record({ application: count, infrastructure: count, leaseLost: count, rateLimit: count }),
      (code, counters) => {
        const decision = ask(code, { counters });
        const grown = (Object.keys(counters) as (keyof RetryCounters)[]).filter(
          (cause) => decision.counters[cause] !== counters[cause],
        );
        expect(grown).toEqual(decision.chargedTo === null ? [] : [decision.chargedTo]);
        if (decision.chargedTo !== null) {
          expect(decision.counters[decision.chargedTo]).toBe(counters[decision.chargedTo] + 1);
        }
      },
    ),
  );
});
