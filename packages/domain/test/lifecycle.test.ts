import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BIRTH_STATUSES,
  ILLEGAL_TRANSITION_SQLSTATE,
  isCancelling,
  isLeased,
  isLegal,
  isTerminal,
  isWaiting,
  LEASED_STATUSES,
  PLACE,
  publicStatus,
  RUN_STATUSES,
  type RunStatus,
  stagesPassed,
  TERMINAL_STATUSES,
  TRANSITIONS,
  transitionFunctionSql,
  transitionTriggerSql,
} from '../src/index.js';

const status = fc.constantFrom(...RUN_STATUSES);

describe('the transition table', () => {
  it('Q10: holds every status the requirement names', () => {
    const named =
      'ADMITTED QUEUED CLAIMED PREPARING_SANDBOX RUNNING VERIFYING JUDGING FINALIZING SUCCEEDED FAILED FAILED_RETRYABLE STALE_LEASE WAITING_CAPACITY POLICY_DENIED CANCEL_REQUESTED CANCELLING CANCELLED';
    for (const name of named.split(' ')) expect(RUN_STATUSES).toContain(name);
  });

  it('Q10: a status is terminal exactly when nothing follows it', () => {
    for (const from of RUN_STATUSES) expect(isTerminal(from)).toBe(TRANSITIONS[from].length === 0);
    expect(RUN_STATUSES.filter(isTerminal).sort()).toEqual([...TERMINAL_STATUSES].sort());
  });

  it('INV-ST1: terminal statuses absorb: no walk leaves one', () => {
    fc.assert(
      fc.property(fc.constantFrom(...TERMINAL_STATUSES), status, (from, to) => {
        expect(isLegal(from, to)).toBe(false);
      }),
    );
  });

  it('no status follows itself, and no step is listed twice', () => {
    for (const from of RUN_STATUSES) {
      expect(TRANSITIONS[from]).not.toContain(from);
      expect(new Set(TRANSITIONS[from]).size).toBe(TRANSITIONS[from].length);
    }
  });

  it('every status can be reached from a birth, and from every status a terminal one', () => {
    expect([...reachable(BIRTH_STATUSES)].sort()).toEqual([...RUN_STATUSES].sort());
    for (const from of RUN_STATUSES) expect([...reachable([from])].some(isTerminal)).toBe(true);
  });

  it('Q5: cancelling is monotonic: from the cancel states only CANCELLED can be reached', () => {
    expect([...reachable(['CANCEL_REQUESTED'])].sort()).toEqual([
      'CANCELLED',
      'CANCELLING',
      'CANCEL_REQUESTED',
    ]);
    for (const from of RUN_STATUSES) {
      const canBeCancelled = !isTerminal(from) && !isCancelling(from);
      expect(isLegal(from, 'CANCEL_REQUESTED')).toBe(canBeCancelled);
    }
  });

  it('leased stages only go forward, except for a repair back to RUNNING', () => {
    for (const from of LEASED_STATUSES) {
      for (const to of LEASED_STATUSES) {
        const isForward = LEASED_STATUSES.indexOf(to) > LEASED_STATUSES.indexOf(from);
        const isRepair = to === 'RUNNING' && (from === 'VERIFYING' || from === 'JUDGING');
        expect(isLegal(from, to)).toBe(isForward || isRepair);
      }
    }
  });

  it('a run holds a lease exactly in the leased and the cancel states, and an item only while it waits', () => {
    for (const one of RUN_STATUSES) {
      expect(PLACE[one] === 'lease').toBe(isLeased(one) || isCancelling(one));
      if (PLACE[one] === 'item' || PLACE[one] === 'item-delayed') expect(isWaiting(one)).toBe(true);
      if (isTerminal(one)) expect(PLACE[one]).toBe('nowhere');
    }
  });
});

it('every status has a public one, and the public one follows from where the run is', () => {
  for (const one of RUN_STATUSES) {
    const shown = publicStatus(one);
    expect(shown === 'waiting').toBe(isWaiting(one));
    const isPassedThrough = PLACE[one] === 'never';
    expect(shown === 'running').toBe(isLeased(one) || isCancelling(one) || isPassedThrough);
  }
  expect(TERMINAL_STATUSES.map(publicStatus)).toEqual([
    'succeeded',
    'failed',
    'cancelled',
    'skipped',
    'skipped',
    'skipped',
    'skipped',
  ]);
});

describe('stagesPassed', () => {
  const leased = fc.constantFrom(...LEASED_STATUSES);
  it('begins and ends where the run does, and forward names every stage between', () => {
    fc.assert(
      fc.property(leased, leased, (from, to) => {
        const stages = stagesPassed(from, to);
        expect(stages[0]).toBe(from);
        expect(stages.at(-1)).toBe(to);
        const distance = LEASED_STATUSES.indexOf(to) - LEASED_STATUSES.indexOf(from);
        if (distance > 0) expect(stages.length).toBe(distance + 1);
      }),
    );
  });
  it('a step back names no stage in between', () => {
    expect(stagesPassed('JUDGING', 'RUNNING')).toEqual(['JUDGING', 'RUNNING']);
  });
});

describe('the table in SQL', () => {
  const sql = transitionFunctionSql();

  it('Q10: the function says for every status exactly what the table says', () => {
    for (const from of RUN_STATUSES) {
      const line = sql.split('\n').find((one) => one.includes(`when '${from}' then`)) ?? '';
      const targets = [...(line.split('then')[1] ?? '').matchAll(/'([A-Z_]+)'/g)].map((found) => found[1]);
      expect(targets).toEqual([...TRANSITIONS[from]]);
      expect(line.includes('then false')).toBe(isTerminal(from));
    }
  });

  it('an insert must carry a birth status', () => {
    const line = sql.split('\n').find((one) => one.includes('legal := becomes in')) ?? '';
    expect([...line.matchAll(/'([A-Z_]+)'/g)].map((found) => found[1])).toEqual([...BIRTH_STATUSES]);
  });

  it('an illegal step is refused with its own SQLSTATE, and the trigger sees every write', () => {
    expect(sql).toContain(`errcode = '${ILLEGAL_TRANSITION_SQLSTATE}'`);
    expect(ILLEGAL_TRANSITION_SQLSTATE).toBe('HG001');
    expect(transitionTriggerSql()).toContain('before insert or update on headgate.run');
  });
});

function reachable(from: readonly RunStatus[]): ReadonlySet<RunStatus> {
  const seen = new Set<RunStatus>(from);
  for (const one of seen) for (const next of TRANSITIONS[one]) seen.add(next);
  return seen;
}
