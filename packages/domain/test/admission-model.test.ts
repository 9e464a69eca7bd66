import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Candidate,
  type Cause,
  type CausePart,
  type Decision,
  decideBatch,
  decideOne,
  evolve,
  isCancelling,
  isLegal,
  type LoopGuardPolicy,
  type OnNewVersion,
  type RunStatus,
} from '../src/index.js';
import { ModelStore, type RunRow, withoutClock } from './admission-model.js';
import { aCandidate, aRoute, aTenant, minute } from './builders.js';

const POLICIES: readonly OnNewVersion[] = ['reject', 'useExisting', 'queueOne', 'cancelOther', 'allow'];

type Step =
  | {
      readonly kind: 'deliver';
      readonly version: number;
      readonly via: 'webhook' | 'scan';
      readonly isTimed: boolean;
      readonly follows: number | null;
      /** Of the loop guard; a version of ours is one that an earlier run made. */
      readonly part: CausePart;
    }
  /** A run makes the next version: its seal. */
  | { readonly kind: 'make'; readonly pick: number; readonly version: number }
  | { readonly kind: 'redeliver'; readonly pick: number }
  | {
      readonly kind: 'person';
      readonly directive: 'retry' | 'reset';
      readonly cancelLive: boolean;
      readonly version: number;
    }
  | { readonly kind: 'start'; readonly pick: number; readonly status: 'RUNNING' | 'FINALIZING' }
  | { readonly kind: 'end'; readonly pick: number; readonly outcome: RunStatus }
  | { readonly kind: 'cancel-task' };

const pick = fc.nat(20);
const version = fc.integer({ min: 1, max: 6 });
const deliver: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('deliver' as const),
  version,
  via: fc.constantFrom('webhook' as const, 'scan' as const),
  isTimed: fc.boolean(),
  follows: fc.option(version, { nil: null }),
  part: fc.constantFrom<CausePart[]>('person', 'echo', 'finding', 'finding', 'machine', 'clock'),
});
const make: fc.Arbitrary<Step> = fc.record({ kind: fc.constant('make' as const), pick, version });
const redeliver: fc.Arbitrary<Step> = fc.record({ kind: fc.constant('redeliver' as const), pick });
const person: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('person' as const),
  directive: fc.constantFrom('retry' as const, 'reset' as const),
  cancelLive: fc.boolean(),
  version,
});
const start: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('start' as const),
  pick,
  status: fc.constantFrom('RUNNING' as const, 'FINALIZING' as const),
});
const end: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('end' as const),
  pick,
  outcome: fc.constantFrom<RunStatus[]>('SUCCEEDED', 'FAILED', 'NO_WORK', 'POLICY_DENIED', 'CANCELLED'),
});
const anyStep = fc.oneof(
  { arbitrary: deliver, weight: 6 },
  { arbitrary: redeliver, weight: 2 },
  { arbitrary: person, weight: 1 },
  { arbitrary: start, weight: 3 },
  { arbitrary: end, weight: 3 },
  { arbitrary: make, weight: 2 },
  { arbitrary: fc.constant<Step>({ kind: 'cancel-task' }), weight: 1 },
);

interface WorldOptions {
  readonly policy: OnNewVersion;
  readonly maxQueued?: number | null;
  /** All versions carry a time and no parents: one total order. */
  readonly isOrdered?: boolean;
}

/** Low limits, so that random histories meet them. */
const GUARD: LoopGuardPolicy = {
  maxHops: 2,
  maxRunsSinceHuman: 2,
  perTarget: { limit: 12, windowMs: 3_600_000 },
  perActor: { limit: 6, windowMs: 3_600_000 },
};

const aCause = (part: CausePart, version: string): Cause => ({
  part,
  isByPerson: part === 'person',
  isRequest: false,
  version: part === 'person' || part === 'clock' ? null : version,
  subjects: ['42/pull_request/7'],
  target: '42/pull_request/7',
  actor: part === 'person' || part === 'machine' ? 'user:5' : null,
});

/** Turns steps into candidates with fresh ids, and remembers what was sent. */
class World {
  readonly store = new ModelStore();
  readonly sent: Candidate[] = [];
  constructor(private readonly options: WorldOptions) {}

  candidate(step: Step): Candidate | null {
    const name = `n${this.sent.length}`;
    const route = aRoute({ onNewVersion: this.options.policy });
    const tenant = aTenant({ maxQueued: this.options.maxQueued ?? null });
    let made: Candidate;
    switch (step.kind) {
      case 'deliver':
      case 'person': {
        const isDelivery = step.kind === 'deliver';
        const isTimed = this.options.isOrdered === true || (isDelivery && step.isTimed);
        const follows = isDelivery && this.options.isOrdered !== true ? step.follows : null;
        made = aCandidate({
          name,
          version: `v${step.version}`,
          at: isTimed ? minute(step.version) : null,
          parents: follows === null ? [] : [`v${follows}`],
          signal: { via: isDelivery ? step.via : 'api' },
          cause: aCause(isDelivery ? step.part : 'person', `v${step.version}`),
          guard: GUARD,
          directive: isDelivery ? { kind: 'none' } : { kind: step.directive, cancelLive: step.cancelLive },
          route,
          tenant,
        });
        break;
      }
      case 'redeliver': {
        const original = this.sent[step.pick % Math.max(1, this.sent.length)];
        if (original === undefined) return null;
        const ids = aCandidate({ name });
        made = { ...original, receiptId: ids.receiptId, runId: ids.runId };
        break;
      }
      default:
        return null;
    }
    this.sent.push(made);
    return made;
  }

  /** A step that is no signal. */
  happen(step: Step): void {
    if (step.kind === 'cancel-task') this.store.cancelTask();
    if (step.kind === 'make') this.store.make(step.pick, `v${step.version}`);
    if (step.kind !== 'start' && step.kind !== 'end') return;
    const live = this.store.live();
    const run: RunRow | undefined = live[step.pick % Math.max(1, live.length)];
    if (run === undefined) return;
    if (step.kind === 'end') this.store.end(run, step.outcome);
    else if (isLegal(run.status, step.status) || run.status === 'QUEUED') run.status = step.status;
  }

  play(steps: readonly Step[], onDecision: (decision: Decision) => void = () => {}): void {
    for (const step of steps) {
      const candidate = this.candidate(step);
      if (candidate === null) this.happen(step);
      else for (const decision of this.store.intake([candidate])) onDecision(decision);
    }
  }
}

describe('the intake fold', () => {
  it('SQL rule 9: a batch decides what the same signals would have got one at a time, each in its own transaction', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...POLICIES),
        fc.option(fc.integer({ min: 1, max: 3 })),
        fc.array(anyStep, { maxLength: 12 }),
        fc.array(fc.oneof(deliver, redeliver, person), { minLength: 1, maxLength: 10 }),
        (policy, maxQueued, history, batch) => {
          const together = new World({ policy, maxQueued });
          const apart = new World({ policy, maxQueued });
          together.play(history);
          apart.play(history);
          const candidates = batch.map((step) => together.candidate(step)).filter((made) => made !== null);
          const inOne = together.store.intake(candidates);
          const oneByOne = candidates.flatMap((candidate) => apart.store.intake([candidate]));
          expect(inOne).toEqual(oneByOne);
          expect(withoutClock(together.store.load())).toEqual(withoutClock(apart.store.load()));
        },
      ),
      { numRuns: 400 },
    );
  });

  it('SQL rule 9: the state after a decision is the state that is read back after its writes', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...POLICIES),
        fc.array(anyStep, { maxLength: 15 }),
        fc.oneof(deliver, redeliver, person),
        (policy, history, last) => {
          const world = new World({ policy });
          world.play(history);
          const candidate = world.candidate(last);
          if (candidate === null) return;
          const before = world.store.load();
          const untouched = structuredClone(before);
          const after = evolve(before, decideOne(before, candidate));
          expect(before).toEqual(untouched);
          world.store.intake([candidate]);
          expect(withoutClock(after)).toEqual(withoutClock(world.store.load()));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('I9: every candidate gets exactly one decision, in order', () => {
    fc.assert(
      fc.property(fc.constantFrom(...POLICIES), fc.array(fc.oneof(deliver, person)), (policy, steps) => {
        const world = new World({ policy });
        const candidates = steps.map((step) => world.candidate(step)).filter((made) => made !== null);
        const decisions = decideBatch(world.store.load(), candidates);
        expect(decisions.map((decision) => decision.candidate)).toEqual(candidates);
      }),
      { numRuns: 100 },
    );
  });
});

describe('what holds in every history', () => {
  const histories = fc.tuple(fc.constantFrom(...POLICIES), fc.array(anyStep, { maxLength: 40 }));

  it('INV-IN2: at most one run per generation and version; a duplicate names the run of its version', () => {
    fc.assert(
      fc.property(histories, ([policy, steps]) => {
        const world = new World({ policy });
        world.play(steps, (decision) => {
          if (decision.reasonCode !== 'DUPLICATE_WORK') return;
          const named = world.store.runs.find((run) => run.runId === decision.runId);
          expect(named?.inputVersion).toBe(decision.candidate.work?.inputVersion);
          expect(decision.existing).toBe(true);
        });
        const identities = world.store.runs.map((run) => `${run.generation}/${run.inputVersion}`);
        expect(new Set(identities).size).toBe(identities.length);
        const ids = world.store.runs.map((run) => run.runId);
        expect(new Set(ids).size).toBe(ids.length);
      }),
      { numRuns: 400 },
    );
  });

  it('INV-IN4: every run descends from exactly one accepting decision', () => {
    fc.assert(
      fc.property(histories, ([policy, steps]) => {
        const world = new World({ policy });
        world.play(steps);
        const accepted = world.store.decisions.filter((decision) => decision.reasonCode === 'ADMITTED');
        expect(accepted.map((decision) => decision.runId)).toEqual(world.store.runs.map((run) => run.runId));
      }),
      { numRuns: 200 },
    );
  });

  it('I4: a redelivery is always DUPLICATE_DELIVERY and never changes a run', () => {
    fc.assert(
      fc.property(histories, pick, ([policy, steps], which) => {
        const world = new World({ policy });
        world.play(steps);
        const candidate = world.candidate({ kind: 'redeliver', pick: which });
        if (candidate === null) return;
        const [decision] = world.store.intake([candidate]);
        expect(decision?.reasonCode).toBe('DUPLICATE_DELIVERY');
        expect(decision?.writes.filter((write) => write.kind !== 'attach')).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  it('Q5: after a task is cancelled no signal makes a run until a person asks again', () => {
    fc.assert(
      fc.property(
        histories,
        fc.array(fc.oneof(deliver, redeliver, start, end), { maxLength: 15 }),
        ([policy, before], after) => {
          const world = new World({ policy });
          world.play(before);
          world.store.cancelTask();
          const runs = world.store.runs.length;
          const made = new Set<string>();
          world.play(after, (decision) => made.add(decision.reasonCode));
          expect(world.store.runs.length).toBe(runs);
          for (const code of made)
            expect(['TASK_CANCELLED', 'DUPLICATE_DELIVERY', 'SELF_TRIGGERED']).toContain(code);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('I8: generations never go back, and only a reset starts a new publication', () => {
    fc.assert(
      fc.property(histories, ([policy, steps]) => {
        const world = new World({ policy });
        let { generation, publication } = world.store.task;
        let resets = 0;
        world.play(steps, (decision) => {
          const isReset = decision.candidate.directive.kind === 'reset';
          if (decision.reasonCode === 'ADMITTED' && isReset) resets += 1;
          expect(world.store.task.generation).toBeGreaterThanOrEqual(generation);
          ({ generation, publication } = world.store.task);
          expect(publication).toBe(1 + resets);
        });
      }),
      { numRuns: 200 },
    );
  });

  it('unknown order never cancels: without times and parents nothing is superseded', () => {
    fc.assert(
      fc.property(histories, ([policy, steps]) => {
        const world = new World({ policy });
        const unordered = steps.map((step) =>
          step.kind === 'deliver' ? { ...step, isTimed: false, follows: null } : step,
        );
        world.play(unordered, (decision) => {
          expect(decision.writes.some((write) => write.kind === 'supersede')).toBe(false);
          expect(decision.reasonCode).not.toBe('SUPERSEDED');
        });
      }),
      { numRuns: 150 },
    );
  });

  it('the loop guard: no run lies further from the outside, or from a person, than may be', () => {
    fc.assert(
      fc.property(histories, ([policy, steps]) => {
        const world = new World({ policy });
        world.play(steps, (decision) => {
          for (const write of decision.writes) {
            if (write.kind !== 'admit' || decision.candidate.directive.kind !== 'none') continue;
            expect(write.lineage.hops).toBeLessThanOrEqual(GUARD.maxHops);
            expect(write.lineage.chainRuns).toBeLessThanOrEqual(GUARD.maxRunsSinceHuman);
          }
        });
      }),
      { numRuns: 300 },
    );
  });

  it('the loop guard: what our runs made never starts a run as news of itself', () => {
    fc.assert(
      fc.property(histories, ([policy, steps]) => {
        const world = new World({ policy });
        world.play(steps, ({ candidate, runId, reasonCode }) => {
          const { cause } = candidate;
          const isOurs = cause?.version != null && world.store.makers.has(`default\u0000${cause.version}`);
          if (cause?.part !== 'echo' || !isOurs || candidate.directive.kind !== 'none') return;
          expect(reasonCode === 'DUPLICATE_DELIVERY' || reasonCode === 'SELF_TRIGGERED').toBe(true);
          if (reasonCode === 'SELF_TRIGGERED') expect(runId).toBeNull();
        });
      }),
      { numRuns: 300 },
    );
  });
});

describe('newest wins, with a source that orders its versions', () => {
  const numberOf = (row: { readonly inputVersion: string }) => Number(row.inputVersion.slice(1));

  it('no older version is admitted after a newer one, except by reset', () => {
    fc.assert(
      fc.property(fc.constantFrom(...POLICIES), fc.array(anyStep, { maxLength: 40 }), (policy, steps) => {
        const world = new World({ policy, isOrdered: true });
        world.play(steps);
        let newest = 0;
        for (const decision of world.store.decisions) {
          if (decision.reasonCode !== 'ADMITTED' || decision.candidate.work === null) continue;
          const admitted = numberOf(decision.candidate.work);
          if (decision.candidate.directive.kind !== 'reset') {
            expect(admitted).toBeGreaterThanOrEqual(newest);
          }
          newest = admitted;
        }
      }),
      { numRuns: 300 },
    );
  });

  it('cancelOther: beside the newest version only runs that are stopping or finalizing are left', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 40 }), (steps) => {
        const world = new World({ policy: 'cancelOther', isOrdered: true });
        const noReset = steps.filter((step) => step.kind !== 'person');
        world.play(noReset, () => {
          const newest = Math.max(...world.store.runs.map(numberOf));
          for (const run of world.store.live()) {
            const isLeftToEnd = isCancelling(run.status) || run.status === 'FINALIZING';
            if (numberOf(run) < newest) expect(isLeftToEnd).toBe(true);
          }
        });
      }),
      { numRuns: 300 },
    );
  });

  it('I4: queueOne, cancelOther and allow swallow nothing: once all runs ended, the newest version had its run', () => {
    fc.assert(
      fc.property(
        fc.constantFrom<OnNewVersion[]>('queueOne', 'cancelOther', 'allow'),
        fc.array(fc.oneof(deliver, redeliver, start, end), { minLength: 1, maxLength: 30 }),
        (policy, steps) => {
          const world = new World({ policy, isOrdered: true });
          world.play(steps);
          for (let run = world.store.live()[0]; run !== undefined; run = world.store.live()[0]) {
            world.store.end(run, 'SUCCEEDED');
          }
          const asked = world.sent.map((candidate) => Number(candidate.work?.inputVersion.slice(1)));
          if (asked.length === 0) return;
          expect(Math.max(...world.store.runs.map(numberOf))).toBe(Math.max(...asked));
          expect(world.store.latch).toBeNull();
        },
      ),
      { numRuns: 300 },
    );
  });

  it('queueOne: one run under way at a time, the newest waits', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(deliver, redeliver, start, end), { maxLength: 40 }), (steps) => {
        const world = new World({ policy: 'queueOne', isOrdered: true });
        world.play(steps, () => {
          const underWay = world.store.live().filter((run) => !isCancelling(run.status));
          expect(underWay.length).toBeLessThanOrEqual(1);
        });
      }),
      { numRuns: 200 },
    );
  });
});
