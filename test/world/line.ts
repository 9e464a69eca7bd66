/** The way of runs through the database in batches, as the services walk it, without the services. */
import { Admission, type Submission } from '@headgate/admission';
import { systemIds, type WorkerId } from '@headgate/domain';
import {
  type ClaimedRun,
  claim,
  type Database,
  Dimensions,
  dispatch,
  dispatchedRuns,
  enterStages,
  finish,
  leases,
  policies,
} from '@headgate/store';
import { createLogger } from '@headgate/telemetry';
import { type SeededTenant, seedTenant, seedWorker } from '@headgate/testkit/measure';
import { policyFrom } from './policy.js';
import { anotherTarget, submissionOf } from './signals.js';

const ACTOR = 'test';
const CHECKS = `
version: 1
sources:
  forge:
    kind: github
    webhookSecrets: [ "\${TEST_SECRET}" ]
    repositories: { acme/api: { url: /nowhere/api.git, defaultBranch: main } }
agents: { fixer: { runtime: command, command: [ node, fix.js ] } }
routes: { fix: { on: [ github.check_run.completed ] } }
`;

export interface Line {
  readonly db: Database;
  readonly workerId: WorkerId;
  readonly tenant: SeededTenant;
  /** Distinct pieces of work; all in one batch. */
  submit(list: readonly Submission[]): Promise<void>;
  /** From the queue to a lease and on to its end; each in one batch. */
  dispatch(count: number): Promise<readonly Item[]>;
  claim(items: readonly Item[]): Promise<readonly ClaimedRun[]>;
  beat(runs: readonly ClaimedRun[]): Promise<void>;
  start(runs: readonly ClaimedRun[]): Promise<void>;
  finish(runs: readonly ClaimedRun[]): Promise<void>;
}

export type Item = { readonly runId: ClaimedRun['runId']; readonly dispatchNo: number };

export async function lineOver(db: Database): Promise<Line> {
  const tenant = await seedTenant(db, { policy: await policyFrom(CHECKS), route: 'fix', agent: 'fixer' });
  const workerId = await seedWorker(db, { queueIds: [tenant.queueId], slots: 1_000 });
  const active = await db.service.use((c) => policies.active(c));
  if (active === null) throw new Error('no policy is active');
  const admission = new Admission({
    pool: db.service,
    dimensions: new Dimensions(db.service),
    ids: systemIds,
    logger: createLogger('line', { level: 'silent' }),
    policy: () => active,
  });
  return {
    db,
    tenant,
    workerId,
    submit: async (list) => {
      await Promise.all(list.map((one) => admission.submit(one)));
    },
    dispatch: async (count) => {
      const outcome = await dispatch(db.service, {
        pairs: [{ queueId: tenant.queueId, tenantId: tenant.id, after: null }],
        read: count,
        wait: true,
        choose: ({ heads }) => heads.map((head) => head.runId),
      });
      return outcome.kind === 'dispatched' ? outcome.items : [];
    },
    claim: async (items) => {
      await db.service.use((c) => dispatchedRuns.named(c, items, [tenant.queueId]));
      const claimed = await claim(db.service, {
        workerId,
        queueIds: [tenant.queueId],
        ttlMs: 60_000,
        policyVersion: tenant.policyVersion,
        hinted: items.map(({ runId, dispatchNo }) => ({
          runId,
          dispatchNo,
          attemptId: systemIds.next('att'),
          leaseId: systemIds.next('lease'),
          judgedAgoMs: 0,
        })),
        limit: items.length,
        verdictMaxAgeMs: 60_000,
      });
      if (claimed.kind !== 'claimed') throw new Error(`the claim answered ${claimed.kind}`);
      return claimed.runs;
    },
    beat: async (runs) => {
      await db.reserved.use((c) => leases.beat(c, runs, workerId, 60_000));
    },
    start: async (runs) => {
      await enterStages(
        db.service,
        runs.map((fence) => ({ fence, to: 'RUNNING', actor: ACTOR, passed: [] })),
      );
    },
    finish: async (runs) => {
      await finish(
        db.service,
        runs.map((run) => ({
          fence: run,
          attemptId: run.attemptId,
          result: { kind: 'succeeded', reasonCode: 'SUCCEEDED' } as const,
          costUsd: 0,
          evidence: null,
          actor: ACTOR,
        })),
        () => 0.5,
      );
    },
  };
}

/** Distinct work, none of it ever seen. */
export function someWork(count: number, from: number, payload: Submission['payload'] = null): Submission[] {
  return Array.from({ length: count }, (_, n) => submissionOf(anotherTarget(from + n), { payload }));
}
