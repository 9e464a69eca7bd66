/**
 * What the loop guard looks at, for one batch: at most five statements however many signals, and one (who made the
 * commits) in the common case. Read under the tasks' locks; what other tasks do meanwhile may be seen a moment late,
 * which can let one run more begin at a rate's edge and nothing else.
 */
import {
  type Candidate,
  type Chain,
  type GuardState,
  type LoopGuardPolicy,
  type Maker,
  type RateLimit,
  rateKey,
  type TaskId,
  taskKey,
  touchedSubjects,
  versionKey,
} from '@headgate/domain';
import { type ActivePolicy, type Connection, type Dimensions, lineages, touches } from '@headgate/store';
import type { Prepared } from './prepare.js';
import { userIdOf } from './run-rows.js';

export interface GuardContext {
  readonly active: ActivePolicy;
  readonly dimensions: Dimensions;
}

export interface LoadedGuard {
  readonly guard: GuardState;
  readonly chains: ReadonlyMap<TaskId, Chain>;
}

/** A guarded candidate with its tenant's number. */
interface Guarded {
  readonly candidate: Candidate;
  readonly tenantId: number;
}

export async function loadGuard(
  c: Connection,
  batch: readonly Prepared[],
  taskIds: ReadonlyMap<string, TaskId>,
  context: GuardContext,
): Promise<LoadedGuard> {
  const guarded = batch.flatMap(({ candidate }): Guarded[] => {
    const tenantId = context.active.tenantIds.get(candidate.tenant.id);
    return tenantId === undefined || candidate.cause == null ? [] : [{ candidate, tenantId }];
  });
  const makers = await makersOf(c, guarded);
  const inChain = guarded.filter((one) => goesOn(one.candidate, makers));
  const { perTarget, perActor }: Partial<LoopGuardPolicy> = context.active.policy.loopGuard ?? {};
  const [touched, chains, targets, actors] = await Promise.all([
    touchedOf(c, inChain),
    lineages.chains(c, [...new Set(inChain.flatMap(({ candidate }) => taskIdOf(candidate, taskIds) ?? []))]),
    startedByTarget(c, guarded, perTarget ?? null),
    startedByActor(c, guarded, perActor ?? null, context),
  ]);
  return { guard: { makers, touched, started: new Map([...targets, ...actors]) }, chains };
}

const taskIdOf = ({ tenant, work }: Candidate, taskIds: ReadonlyMap<string, TaskId>): TaskId | null =>
  work === null ? null : (taskIds.get(taskKey(tenant.id, work.workKey)) ?? null);

/** Whether it may go on with a chain: it is about a version of ours, or a machine did it. */
function goesOn({ cause, tenant }: Candidate, makers: ReadonlyMap<string, Maker>): boolean {
  if (cause == null) return false;
  if (cause.part === 'machine') return true;
  return cause.version !== null && makers.has(versionKey(tenant.id, cause.version));
}

async function makersOf(c: Connection, guarded: readonly Guarded[]): Promise<ReadonlyMap<string, Maker>> {
  const asked = new Map(
    guarded.flatMap(({ candidate: { cause, tenant }, tenantId }) =>
      cause?.version == null
        ? []
        : [[versionKey(tenant.id, cause.version), { tenantId, version: cause.version }] as const],
    ),
  );
  const found = await lineages.makers(c, [...asked.values()]);
  const keys = new Map([...asked].map(([key, one]) => [`${one.tenantId}\u0000${one.version}`, key]));
  return new Map(
    found.flatMap(({ tenantId, version, ...maker }) => {
      const key = keys.get(`${tenantId}\u0000${version}`);
      return key === undefined ? [] : [[key, maker] as const];
    }),
  );
}

async function touchedOf(c: Connection, inChain: readonly Guarded[]): Promise<ReadonlyMap<string, Date>> {
  const asked = inChain.flatMap(({ candidate, tenantId }) =>
    touchedSubjects(candidate).map(({ key, subject }) => ({ key, tenantId, subject })),
  );
  const times = await touches.read(c, asked);
  return new Map(
    asked.flatMap(({ key }, at) => {
      const time = times[at] ?? null;
      return time === null ? [] : [[key, time] as const];
    }),
  );
}

async function startedByTarget(
  c: Connection,
  guarded: readonly Guarded[],
  rate: RateLimit | null,
): Promise<readonly (readonly [string, number])[]> {
  if (rate === null) return [];
  const asked = new Map(
    guarded.flatMap(({ candidate: { cause, tenant }, tenantId }) =>
      cause?.target == null
        ? []
        : [[rateKey(tenant.id, 'target', cause.target), { tenantId, subject: cause.target }] as const],
    ),
  );
  const counts = await lineages.startedByTarget(c, [...asked.values()], rate);
  return [...asked.keys()].map((key, at) => [key, counts[at] ?? 0] as const);
}

async function startedByActor(
  c: Connection,
  guarded: readonly Guarded[],
  rate: RateLimit | null,
  { dimensions }: GuardContext,
): Promise<readonly (readonly [string, number])[]> {
  if (rate === null) return [];
  const asked = new Map(
    guarded.flatMap(({ candidate: { cause, tenant, signal, route }, tenantId }) => {
      // Only of a routed signal is the actor numbered, and only that could begin a run.
      const userId =
        cause?.actor == null || route === null ? null : userIdOf(signal, { dimensions, tenantId });
      return userId === null || cause?.actor == null
        ? []
        : [[rateKey(tenant.id, 'actor', cause.actor), { tenantId, userId }] as const];
    }),
  );
  const counts = await lineages.startedByUser(c, [...asked.values()], rate);
  return [...asked.keys()].map((key, at) => [key, counts[at] ?? 0] as const);
}
