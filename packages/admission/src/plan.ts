/**
 * From submissions to a batch that can be decided: under the configuration's names, routed and identified, narrowed by
 * their repositories' files, with every small id there and the payloads encoded. All of it stands outside the
 * transaction: it takes no lock of it, and what is read here never changes or is read again (SQL rule 8).
 */
import type { Decision, Ids, SignalAnswer } from '@headgate/domain';
import {
  type ActivePolicy,
  type Dimensions,
  databaseNow,
  type Pool,
  payloads,
  type RepositoryFileKey,
  repositoryFileKey,
  repositoryFiles,
} from '@headgate/store';
import { answerOf, primaryOf } from './answer.js';
import type { BatchContext } from './batch-context.js';
import { readContinued } from './continued.js';
import { ForgeNames } from './forge-names.js';
import { type Prepared, prepare } from './prepare.js';
import { withFile } from './repository-config.js';
import { dimensionKeysOf, repositoryKeyOf } from './run-rows.js';
import type { Submission } from './submission.js';

export interface Plan {
  readonly batch: readonly Prepared[];
  readonly context: BatchContext;
  /** How many candidates each submission has become, in their order. */
  readonly widths: readonly number[];
}

export interface PlannerOptions {
  readonly pool: Pool;
  readonly dimensions: Dimensions;
  readonly ids: Ids;
}

export class Planner {
  readonly #options: PlannerOptions;
  readonly #names: ForgeNames;

  constructor(options: PlannerOptions) {
    this.#options = options;
    this.#names = new ForgeNames(options.pool);
  }

  async plan(submissions: readonly Submission[], active: ActivePolicy): Promise<Plan> {
    const { dimensions, ids, pool } = this.#options;
    const named = await this.#names.follow(submissions, active);
    const continued = await readContinued(pool, named, active);
    const routed = named.map((submission) => prepare(submission, active.policy, ids, continued));
    const batch = await this.#withFiles(routed.flat(), active);
    await this.#ensureDimensions(batch, active);
    const payloadsOf = await Promise.all(submissions.map(encoded));
    return {
      batch,
      widths: routed.map((prepared) => prepared.length),
      context: {
        active,
        dimensions,
        payloads: routed.flatMap((prepared, at) =>
          prepared.map((_one, route) => (route === 0 ? (payloadsOf[at] ?? null) : null)),
        ),
        queueIds: active.policy.queues.map((queue) =>
          dimensions.id({ tenantId: 0, kind: 'queue', key: queue.id }),
        ),
      },
    };
  }

  /** Each narrowed by its repository's file, as it was last read. Nobody is asked outside the database. */
  async #withFiles(batch: readonly Prepared[], active: ActivePolicy): Promise<readonly Prepared[]> {
    const keyOf = ({ file, candidate }: Prepared): RepositoryFileKey | null => {
      const tenantId = active.tenantIds.get(candidate.tenant.id);
      return file === null || tenantId === undefined ? null : { ...file, tenantId };
    };
    const keys = batch.flatMap((prepared) => keyOf(prepared) ?? []);
    if (keys.length === 0) return batch;
    const { rows, now } = await this.#options.pool.use(async (c) => ({
      rows: await repositoryFiles.read(c, keys),
      now: await databaseNow(c),
    }));
    return batch.map((prepared) => {
      const key = keyOf(prepared);
      return key === null ? prepared : withFile(prepared, rows.get(repositoryFileKey(key)), now);
    });
  }

  async #ensureDimensions(batch: readonly Prepared[], active: ActivePolicy): Promise<void> {
    const keys = batch.flatMap((prepared) => {
      const tenantId = active.tenantIds.get(prepared.candidate.tenant.id);
      return tenantId === undefined ? [] : dimensionKeysOf(prepared, tenantId);
    });
    const repositories = batch.flatMap((prepared) => {
      const tenantId = active.tenantIds.get(prepared.candidate.tenant.id);
      return tenantId === undefined ? [] : (repositoryKeyOf(prepared, tenantId) ?? []);
    });
    const queues = active.policy.queues.map((queue) => ({
      tenantId: 0,
      kind: 'queue' as const,
      key: queue.id,
    }));
    await this.#options.dimensions.ensure([...queues, ...keys], repositories);
  }
}

/** One answer for each submission: of the routes that took it, the one that matters most to its sender. */
export function answersOf({ batch, widths }: Plan, decisions: readonly Decision[]): readonly SignalAnswer[] {
  const byReceipt = new Map(decisions.map((decision) => [decision.candidate.receiptId, decision]));
  let at = 0;
  return widths.map((width) => {
    const mine = batch.slice(at, at + width);
    at += width;
    return answerOf(primaryOf(mine.flatMap(({ candidate }) => byReceipt.get(candidate.receiptId) ?? [])));
  });
}

const encoded = async ({ payload }: Submission): Promise<BatchContext['payloads'][number]> =>
  payload === null
    ? null
    : {
        mediaType: payload.mediaType,
        headers: payload.headers ?? null,
        ...(await payloads.encode(payload.body)),
      };
