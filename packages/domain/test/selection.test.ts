import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  agingBoundMs,
  blockOf,
  countHeld,
  HEAD_START_SECONDS,
  NOTHING_HELD,
  type QueueCandidate,
  type QueueCapacity,
  rankAt,
  type SelectionInput,
  type SelectionLimits,
  type SlotDimensions,
  select,
  slotKey,
  weightedRoundRobin,
} from '../src/index.js';
import { runIdOf } from './builders.js';

const NO_LIMITS: SelectionLimits = {
  maxActive: null,
  perTenant: new Map(),
  perRepository: null,
  perUser: null,
  perRisk: new Map(),
  perProvider: new Map(),
};
const ROOM: ReadonlyMap<number, QueueCapacity> = new Map([[1, { liveWorkers: 1, freeSlots: 100 }]]);

let serial = 0;
const aCandidate = (change: Partial<QueueCandidate> = {}): QueueCandidate => {
  serial += 1;
  return {
    runId: runIdOf(String(serial).padStart(6, '0')),
    tenant: 1,
    queue: 1,
    rankAt: serial,
    repository: null,
    user: null,
    risk: null,
    provider: null,
    agent: null,
    concurrencyKey: null,
    concurrencyLimit: null,
    taskKey: null,
    ...change,
  };
};
const anInput = (change: Partial<SelectionInput> = {}): SelectionInput => ({
  candidates: [],
  held: NOTHING_HELD,
  limits: NO_LIMITS,
  capacity: ROOM,
  fairness: { order: weightedRoundRobin, weights: new Map() },
  now: 0,
  ...change,
});
const tenantsOf = (chosen: readonly QueueCandidate[]) => chosen.map((one) => one.tenant);

describe('limits', () => {
  const held = countHeld([aCandidate({ repository: 1, user: 1, risk: 1, provider: 1, tenant: 1 })]);
  it.each([
    ['GLOBAL_AT_LIMIT', { maxActive: 1 }, {}],
    ['TENANT_AT_LIMIT', { perTenant: new Map([[1, 1]]) }, {}],
    ['REPOSITORY_AT_LIMIT', { perRepository: 1 }, { repository: 1 }],
    ['USER_AT_LIMIT', { perUser: 1 }, { user: 1 }],
    ['RISK_AT_LIMIT', { perRisk: new Map([[1, 1]]) }, { risk: 1 }],
    ['PROVIDER_AT_LIMIT', { perProvider: new Map([[1, 1]]) }, { provider: 1 }],
  ] as const)('Q23: %s, with how many are held and how many may be', (reasonCode, limits, dimensions) => {
    const candidate = aCandidate(dimensions);
    const result = select(anInput({ candidates: [candidate], held, limits: { ...NO_LIMITS, ...limits } }));
    expect(result.chosen).toEqual([]);
    expect(result.skipped).toEqual([{ runId: candidate.runId, reasonCode, numbers: { held: 1, limit: 1 } }]);
  });

  it('Q23: a limit of one repository leaves the others alone', () => {
    const candidates = [aCandidate({ repository: 1 }), aCandidate({ repository: 2 })];
    const result = select(anInput({ candidates, held, limits: { ...NO_LIMITS, perRepository: 1 } }));
    expect(result.chosen).toEqual([candidates[1]]);
  });

  it('Q23: a concurrency key is busy at its own limit, and belongs to its tenant', () => {
    const keyed = (tenant: number) => aCandidate({ tenant, concurrencyKey: 'aa', concurrencyLimit: 2 });
    const candidates = [keyed(1), keyed(1), keyed(1), keyed(2)];
    const result = select(anInput({ candidates }));
    expect(result.chosen).toHaveLength(3);
    expect(result.skipped).toMatchObject([
      { runId: candidates[2]?.runId, reasonCode: 'CONCURRENCY_KEY_BUSY' },
    ]);
  });

  it('two versions of one task are never chosen together', () => {
    const candidates = [aCandidate({ taskKey: 'bb' }), aCandidate({ taskKey: 'bb' })];
    const result = select(anInput({ candidates }));
    expect(result.chosen).toEqual([candidates[0]]);
    expect(result.skipped).toMatchObject([{ reasonCode: 'CONCURRENCY_KEY_BUSY' }]);
  });

  it('Q20: a queue without a live worker is a visible reason', () => {
    const reasons = (capacity: ReadonlyMap<number, QueueCapacity>) =>
      select(anInput({ candidates: [aCandidate()], capacity })).skipped.map((one) => one.reasonCode);
    expect(reasons(new Map())).toEqual(['NO_CAPABLE_WORKER']);
    expect(reasons(new Map([[1, { liveWorkers: 0, freeSlots: 0, without: 'NO_ISOLATION' }]]))).toEqual([
      'NO_ISOLATION',
    ]);
    expect(reasons(new Map([[1, { liveWorkers: 2, freeSlots: 0 }]]))).toEqual(['READY']);
  });

  it('a lowered limit that is already exceeded lets nothing more in', () => {
    const rows = [aCandidate(), aCandidate(), aCandidate()];
    const limits = { ...NO_LIMITS, maxActive: 1 };
    const result = select(anInput({ candidates: [aCandidate()], held: countHeld(rows), limits }));
    expect(result.skipped).toMatchObject([{ numbers: { held: 3, limit: 1 } }]);
  });
});

describe('whose turn it is', () => {
  const slots = (freeSlots: number) => new Map([[1, { liveWorkers: 1, freeSlots }]]);
  const many = (tenant: number, count: number) => Array.from({ length: count }, () => aCandidate({ tenant }));

  it('Q22: tenants take turns, however many one of them brought', () => {
    const candidates = [...many(1, 50), ...many(2, 2)];
    const { chosen } = select(anInput({ candidates, capacity: slots(4) }));
    expect(tenantsOf(chosen)).toEqual([1, 2, 1, 2]);
  });

  it('Q22: what a tenant holds already counts', () => {
    const held = countHeld(many(1, 3));
    const { chosen } = select(
      anInput({ candidates: [...many(1, 5), ...many(2, 5)], held, capacity: slots(4) }),
    );
    expect(tenantsOf(chosen).filter((tenant) => tenant === 2).length).toBeGreaterThanOrEqual(3);
  });

  it('Q22: weights 3 : 1 give 3 : 1', () => {
    const fairness = { order: weightedRoundRobin, weights: new Map([[1, 3]]) };
    const { chosen } = select(
      anInput({ candidates: [...many(1, 50), ...many(2, 50)], capacity: slots(40), fairness }),
    );
    expect(tenantsOf(chosen).filter((tenant) => tenant === 1)).toHaveLength(30);
  });

  it('Q22: an idle tenant leaves its share to the others', () => {
    const { chosen } = select(anInput({ candidates: many(1, 10), capacity: slots(8) }));
    expect(chosen).toHaveLength(8);
  });

  it('a tenant order that names somebody else is a fault', () => {
    const order = { next: () => 99 };
    const input = anInput({ candidates: many(1, 1), fairness: { order, weights: new Map() } });
    expect(() => select(input)).toThrow(/not offered/);
  });
});

describe('rank', () => {
  it('Q22: priority is a head start: a low item is passed only by what came within the aging bound', () => {
    const headStarts = Object.values(HEAD_START_SECONDS);
    expect(agingBoundMs(headStarts)).toBe(5 * 3_600_000);
    expect(agingBoundMs([])).toBe(0);
    const item = fc.record({
      enqueuedAt: fc.integer({ min: 0, max: 20 * 3_600_000 }),
      headStart: fc.constantFrom(...headStarts),
    });
    fc.assert(
      fc.property(fc.array(item, { minLength: 2, maxLength: 12 }), (items) => {
        const enqueuedAt = new Map<string, number>();
        const candidates = items.map((one) => {
          const candidate = aCandidate({ rankAt: rankAt(one.enqueuedAt, one.headStart) });
          enqueuedAt.set(candidate.runId, one.enqueuedAt);
          return candidate;
        });
        const order = select(anInput({ candidates })).chosen.map((one) => enqueuedAt.get(one.runId) ?? 0);
        order.forEach((first, index) => {
          for (const later of order.slice(index + 1)) {
            expect(first - later).toBeLessThanOrEqual(agingBoundMs(headStarts));
          }
        });
      }),
    );
  });
});

describe('what holds in every round', () => {
  const small = fc.option(fc.constantFrom(1, 2, 3), { nil: null, freq: 2 });
  const dimensions = {
    tenant: fc.constantFrom(1, 2, 3),
    queue: fc.constantFrom(1, 2, 3),
    repository: small,
    user: small,
    risk: small,
    provider: small,
    agent: small,
    concurrencyKey: fc.option(fc.constantFrom('aa', 'bb', 'cc'), { nil: null, freq: 1 }),
    taskKey: fc.option(
      fc.nat(11).map((task) => `t${task}`),
      { nil: null },
    ),
  };
  const candidates = fc
    .array(
      fc.record({
        ...dimensions,
        rankAt: fc.integer({ min: 0, max: 20 }),
        concurrencyLimit: fc.constant<number | null>(2),
      }),
      { minLength: 6, maxLength: 25, size: 'max' },
    )
    .map((all) => all.map((one) => aCandidate(one)));
  const held: fc.Arbitrary<readonly SlotDimensions[]> = fc.array(fc.record(dimensions), { maxLength: 4 });
  const limit = fc.oneof(
    { arbitrary: fc.integer({ min: 1, max: 5 }), weight: 1 },
    { arbitrary: fc.constant(20), weight: 3 },
  );
  const byId = fc
    .dictionary(fc.constantFrom('1', '2', '3'), limit)
    .map((limits) => new Map(Object.entries(limits).map(([id, max]) => [Number(id), max])));
  const limits: fc.Arbitrary<SelectionLimits> = fc.record({
    maxActive: fc.constantFrom(null, null, 0, 3, 9, 15),
    perTenant: byId,
    perRepository: fc.option(limit, { nil: null }),
    perUser: fc.option(limit, { nil: null }),
    perRisk: byId,
    perProvider: byId,
  });
  const capacity = fc
    .array(
      fc.record({
        liveWorkers: fc.constantFrom(0, 1, 2, 3, 4),
        freeSlots: fc.constantFrom(-1, 0, 2, 4, 8, 12),
      }),
      { minLength: 2, maxLength: 3 },
    )
    .map((queues) => new Map(queues.map((queue, index) => [index + 1, queue])));
  const inputs = fc
    .record({ candidates, held, limits, capacity })
    .map((parts) => ({ ...anInput(), ...parts, held: countHeld(parts.held), rows: parts.held }));

  it('INV-QU1: no limit in any dimension is passed, what is held included', () => {
    fc.assert(
      fc.property(inputs, (input) => {
        const { chosen } = select(input);
        const after = countHeld([...input.rows, ...chosen]);
        const before = input.held;
        const within = (now: number, was: number, max: number | null | undefined) => {
          if (max !== null && max !== undefined && now > was) expect(now).toBeLessThanOrEqual(max);
        };
        within(after.total, before.total, input.limits.maxActive);
        for (const [id, now] of after.byTenant) {
          within(now, before.byTenant.get(id) ?? 0, input.limits.perTenant.get(id));
        }
        for (const [id, now] of after.byRepository) {
          within(now, before.byRepository.get(id) ?? 0, input.limits.perRepository);
        }
        for (const [id, now] of after.byUser) within(now, before.byUser.get(id) ?? 0, input.limits.perUser);
        for (const [id, now] of after.byRisk) {
          within(now, before.byRisk.get(id) ?? 0, input.limits.perRisk.get(id));
        }
        for (const [id, now] of after.byProvider) {
          within(now, before.byProvider.get(id) ?? 0, input.limits.perProvider.get(id));
        }
        for (const [key, now] of after.byConcurrencyKey) {
          within(now, before.byConcurrencyKey.get(key) ?? 0, 2);
        }
        for (const [queue, { liveWorkers, freeSlots }] of input.capacity) {
          const given = chosen.filter((one) => one.queue === queue).length;
          expect(given).toBeLessThanOrEqual(liveWorkers === 0 ? 0 : Math.max(0, freeSlots));
        }
        const tasks = chosen.flatMap((one) =>
          one.taskKey === null ? [] : [slotKey(one.tenant, one.taskKey)],
        );
        expect(new Set(tasks).size).toBe(tasks.length);
        for (const task of tasks) expect(before.tasks.has(task)).toBe(false);
      }),
      { numRuns: 400 },
    );
  });

  it('Q22: every candidate is chosen or skipped, and none is skipped without a limit that is really full', () => {
    fc.assert(
      fc.property(inputs, (input) => {
        const { chosen, skipped } = select(input);
        const seen = [...chosen.map((one) => one.runId), ...skipped.map((one) => one.runId)];
        expect(seen.sort()).toEqual(input.candidates.map((one) => one.runId).sort());
        const after = countHeld([...input.rows, ...chosen]);
        const left = new Map(
          [...input.capacity].map(([queue, capacityOf]) => [
            queue,
            {
              ...capacityOf,
              freeSlots: capacityOf.freeSlots - chosen.filter((one) => one.queue === queue).length,
            },
          ]),
        );
        for (const one of skipped) {
          const candidate = input.candidates.find((other) => other.runId === one.runId);
          if (candidate === undefined) throw new Error('skipped a run that was no candidate');
          expect(blockOf(candidate, { held: after, limits: input.limits, capacity: left })).not.toBeNull();
        }
      }),
      { numRuns: 400 },
    );
  });

  it('Q22: within a tenant slots go by rank, among those that compete for the same things', () => {
    fc.assert(
      fc.property(inputs, (input) => {
        const alike = {
          queue: 1,
          repository: 1,
          user: 1,
          risk: 1,
          provider: 1,
          concurrencyKey: null,
          taskKey: null,
        };
        const same = input.candidates.map((one) => ({ ...one, ...alike }));
        const { chosen, skipped } = select({ ...input, candidates: same });
        const rankOf = new Map(same.map((one) => [one.runId, one]));
        for (const passed of skipped) {
          const waiting = rankOf.get(passed.runId);
          for (const one of chosen.filter((other) => other.tenant === waiting?.tenant)) {
            expect(one.rankAt).toBeLessThanOrEqual(waiting?.rankAt ?? Number.NEGATIVE_INFINITY);
          }
        }
        for (const tenant of [1, 2, 3]) {
          const ranks = chosen.filter((one) => one.tenant === tenant).map((one) => one.rankAt);
          expect(ranks).toEqual([...ranks].sort((a, b) => a - b));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('the rounds that are tried really give slots and really refuse some', () => {
    const rounds = fc.sample(inputs, { numRuns: 200, seed: 7 }).map((input) => select(input));
    expect(rounds.filter((round) => round.chosen.length >= 3).length).toBeGreaterThan(60);
    expect(new Set(rounds.flatMap((round) => round.skipped.map((one) => one.reasonCode))).size).toBe(9);
  });

  it('two schedulers that see the same rows in another order choose the same', () => {
    fc.assert(
      fc.property(inputs, (input) => {
        const reversed = { ...input, candidates: [...input.candidates].reverse() };
        expect(select(reversed).chosen).toEqual(select(input).chosen);
      }),
      { numRuns: 200 },
    );
  });
});
