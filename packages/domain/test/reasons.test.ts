import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { anchorOf, isReasonCode, REASON_CODES, reasonCodesMarkdown, reasonOf } from '../src/index.js';

/** The codes that receipts, answers and waiting runs are promised to use. */
const PROMISED = `DUPLICATE_DELIVERY DUPLICATE_WORK DUPLICATE_HOOK STALE_EVENT STALE_INPUT SUPERSEDED
SOURCE_DISAGREES TARGET_CLOSED SELF_TRIGGERED HOP_LIMIT UNKNOWN_EVENT NO_ROUTE NOT_ELIGIBLE OUT_OF_SCOPE
ACTOR_NOT_ALLOWED OPEN_PULL_REQUEST_LIMIT TENANT_SUSPENDED PAUSED FROZEN INCIDENT_MODE QUEUE_FULL
TENANT_AT_LIMIT REPOSITORY_AT_LIMIT USER_AT_LIMIT RISK_AT_LIMIT PROVIDER_AT_LIMIT CONCURRENCY_KEY_BUSY
NO_CAPABLE_WORKER NO_ISOLATION BREAKER_OPEN RAMPING APPROVAL_REQUIRED NOTHING_FOUND OVERLAP_SKIPPED
MISSED_CATCHUP SOURCE_MOVED NO_RESULT SILENCE_TIMEOUT WALL_CLOCK_EXCEEDED TURN_LIMIT COST_LIMIT COST_VELOCITY
CANCEL_UNCONFIRMED ATTEMPTS_EXHAUSTED WORK_KEY_EXHAUSTED ADMITTED EXISTING_RUN QUEUED_NEXT PING DEBOUNCED
HEAD_UNRESOLVED MALFORMED WORK_IN_PROGRESS TASK_CANCELLED NO_CHANGE SOURCE_UNAVAILABLE SOURCE_SILENT
DISPATCH_EXPIRED WORKER_DRAINED MASS_EXPIRY TIME_TO_LIVE_EXPIRED APPROVAL_DECLINED APPROVAL_EXPIRED
PROPOSAL_DISCARDED REPOSITORY_CONFIG_INVALID IDEMPOTENCY_KEY_REUSED IDEMPOTENCY_IN_FLIGHT
WORKER_LOST SANDBOX_START_TIMEOUT PROVIDER_RATE_LIMIT GIT_CLONE_FAILED_TRANSIENT POLICY_DENIED
TASK_CONTRACT_INVALID VERIFIER_FAILED JUDGE_REJECTED CANCELLED_BY_USER TENANT_DAILY_MODEL_BUDGET_EXCEEDED`
  .split(/\s+/)
  .filter((code) => code !== '');

describe('the catalogue of reason codes', () => {
  it('I9, Q17: holds every code that is promised', () => {
    expect(PROMISED.filter((code) => !isReasonCode(code))).toEqual([]);
  });

  it('a name that every object carries is no code', () => {
    expect(isReasonCode('constructor')).toBe(false);
    expect(isReasonCode('toString')).toBe(false);
  });

  it('every code has a sentence for people and an anchor of its own', () => {
    for (const code of REASON_CODES) {
      expect(code).toMatch(/^[A-Z][A-Z_]+$/);
      expect(reasonOf(code).message).toMatch(/^[A-Z.].*[^.]\.$/);
    }
    expect(new Set(REASON_CODES.map(anchorOf)).size).toBe(REASON_CODES.length);
    const sentences = REASON_CODES.map((code) => reasonOf(code).message);
    expect(new Set(sentences).size).toBe(sentences.length);
  });

  it('outcomes agree with their HTTP hint: what is taken is 2xx, what is refused is 4xx', () => {
    for (const code of REASON_CODES) {
      const { class: kind, httpStatus, retry } = reasonOf(code);
      if (kind === 'accept' || kind === 'no-work') expect(httpStatus).toBe(202);
      if (kind === 'reject') expect(httpStatus).toBeGreaterThanOrEqual(400);
      if (kind === 'defer' || kind === 'waiting') expect(retry).toBe('later');
    }
    expect(reasonOf('WORK_IN_PROGRESS').httpStatus).toBe(409);
    expect(reasonOf('TASK_CONTRACT_INVALID').httpStatus).toBe(422);
    expect(reasonOf('QUEUE_FULL').httpStatus).toBe(429);
  });

  it('only a failed attempt is charged to a counter', () => {
    const charged = ['application', 'infrastructure', 'lease-lost', 'rate-limit'];
    for (const code of REASON_CODES) {
      if (charged.includes(reasonOf(code).retry)) expect(reasonOf(code).class).toBe('failure');
    }
  });

  it('docs/reason-codes.md says what the catalogue says', async () => {
    const file = new URL('../../../docs/reason-codes.md', import.meta.url);
    expect(await readFile(file, 'utf8')).toBe(reasonCodesMarkdown());
  });

  it('the document has a heading under every anchor', () => {
    const text = reasonCodesMarkdown();
    for (const code of REASON_CODES) {
      expect(text).toContain(`\n### ${code}\n`);
      expect(anchorOf(code)).toBe(`docs/reason-codes.md#${code.toLowerCase()}`);
    }
  });
});
