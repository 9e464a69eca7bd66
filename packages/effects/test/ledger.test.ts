import { OPERATION_STATES, OPERATION_TRANSITIONS, operationKey } from '@headgate/domain';
import { ledgerConformance, MemoryLedger } from '@headgate/effects/conformance';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fence } from './forge.js';

describe('MemoryLedger', () => {
  const cases = ledgerConformance(async () => {
    const ledger = new MemoryLedger(fence);
    return {
      ledger,
      fence,
      takeOver: async () => ledger.takeOver(),
      expireLease: async () => ledger.expireLease(),
      cancelRun: async () => ledger.cancelRun(),
      close: async () => {},
    };
  });
  for (const { name, run } of cases) it(name, run);
});

describe('the conformance suite', () => {
  it('is red for a ledger that forgets the lease id', async () => {
    class Forgetful extends MemoryLedger {
      override intend(input: Parameters<MemoryLedger['intend']>[0]) {
        return super.intend({ ...input, fence: { ...input.fence, leaseId: fence.leaseId } });
      }
    }
    expect(await failing(() => new Forgetful(fence))).toContain(
      'INV-LE1: the right token with another lease id is not the fence',
    );
  });

  it('is red for a ledger that believes the first read', async () => {
    class Hasty extends MemoryLedger {
      override absent(input: Parameters<MemoryLedger['absent']>[0]) {
        return super.absent({ ...input, settleMs: 0 });
      }
    }
    expect(await failing(() => new Hasty(fence))).toEqual([
      'INV-EF3: absent is believed only from ambiguous, and only after the settle window',
    ]);
  });

  async function failing(make: () => MemoryLedger): Promise<readonly string[]> {
    const failed: string[] = [];
    const cases = ledgerConformance(async () => {
      const ledger = make();
      return {
        ledger,
        fence,
        takeOver: async () => ledger.takeOver(),
        expireLease: async () => ledger.expireLease(),
        cancelRun: async () => ledger.cancelRun(),
        close: async () => {},
      };
    });
    for (const { name, run } of cases) await run().catch(() => failed.push(name));
    return failed;
  }
});

describe('operation states', () => {
  it('INV-EF3: no path leads from an attempt to the next without absent', () => {
    const reach = new Set<string>(['attempted']);
    for (let grew = true; grew; ) {
      grew = false;
      for (const state of OPERATION_STATES) {
        if (!reach.has(state) || state === 'absent') continue;
        for (const next of OPERATION_TRANSITIONS[state]) {
          expect(next).not.toBe('attempted');
          if (!reach.has(next)) {
            reach.add(next);
            grew = true;
          }
        }
      }
    }
    expect([...reach].sort()).toEqual([
      'abandoned',
      'absent',
      'ambiguous',
      'attempted',
      'confirmed',
      'conflicted',
    ]);
  });

  it('I15: keys are apart whenever a part differs, whatever the work key holds (property)', () => {
    const part = fc.record({
      workKey: fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom('*', 'a:b', '', '",1,"')),
      generation: fc.integer({ min: 1, max: 3 }),
      targetVersion: fc.string({ maxLength: 3 }),
    });
    fc.assert(
      fc.property(part, part, (a, b) => {
        const isSame =
          a.workKey === b.workKey && a.generation === b.generation && a.targetVersion === b.targetVersion;
        expect(operationKey({ kind: 'push', ...a }) === operationKey({ kind: 'push', ...b })).toBe(isSame);
      }),
    );
  });
});
