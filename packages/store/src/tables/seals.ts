/**
 * seal: the result of a run, kept before its first side effect, in a store that every worker reaches. An attempt
 * that finds one goes straight to FINALIZING and never re-runs the agent.
 */
import { createHash } from 'node:crypto';
import type { AttemptId, RunId } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import type { Pool } from '../connection/database.js';
import { json, plainText } from '../connection/rows.js';
import { statement } from '../connection/statement.js';
import type { Fence } from '../fence.js';
import { leases } from './leases.js';

/** Rows of at most 1 MiB, up to 64 MiB in all. */
const CHUNK_BYTES = 1024 * 1024;
export const MAX_SEAL_BYTES = 64 * CHUNK_BYTES;

export interface Seal {
  readonly verdict: 'changes' | 'no-change';
  readonly baseVersion: string;
  readonly commitSha: string | null;
  readonly verification: unknown;
  readonly summary: string | null;
  /** The git bundle; empty for no-change. */
  readonly bundle: Buffer;
}

const insert = statement(
  'seal.insert',
  `insert into headgate.seal (run_id, tenant_id, attempt_id, verdict, base_version, commit_sha, hash, bytes, verification, summary)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict (run_id) do nothing`,
);
const insertChunk = statement(
  'seal_chunk.insert',
  'insert into headgate.seal_chunk (run_id, seq, tenant_id, data) values ($1, $2, $3, $4)',
);
const mark = statement(
  'run.mark_sealed',
  'update headgate.run set sealed_at = clock_timestamp() where id = $1 and sealed_at is null',
);
const read = statement(
  'seal.read',
  `select verdict, base_version as "baseVersion", commit_sha as "commitSha", hash, verification, summary
     from headgate.seal where run_id = $1`,
);
const readChunks = statement(
  'seal_chunk.read',
  'select data from headgate.seal_chunk where run_id = $1 order by seq',
);
const setBranch = statement(
  'run.set_branch',
  `update headgate.run set branch = $2 where id = $1 and branch is null`,
);

export type SealResult = 'sealed' | 'already' | 'lost' | 'too-large';

export const seals = {
  /** Fenced, once per run: the first seal stands. */
  put: (
    pool: Pool,
    fence: Fence,
    attemptId: AttemptId,
    seal: Seal,
    branch: string | null,
  ): Promise<SealResult> => {
    if (seal.bundle.length > MAX_SEAL_BYTES) return Promise.resolve('too-large');
    return pool.transaction(async (c) => {
      const [lease] = await leases.lockFenced(c, [fence]);
      if (lease === undefined || !lease.current) return 'lost';
      const hash = createHash('sha256').update(seal.bundle).digest();
      const made = await c.count(insert, [
        fence.runId,
        lease.tenantId,
        attemptId,
        seal.verdict,
        seal.baseVersion,
        seal.commitSha,
        hash,
        seal.bundle.length,
        json(seal.verification) ?? 'null',
        plainText(seal.summary),
      ]);
      if (made === 0) return 'already';
      for (let at = 0; at * CHUNK_BYTES < seal.bundle.length; at += 1) {
        const data = seal.bundle.subarray(at * CHUNK_BYTES, (at + 1) * CHUNK_BYTES);
        await c.run(insertChunk, [fence.runId, at, lease.tenantId, data]);
      }
      if (branch !== null) await c.run(setBranch, [fence.runId, branch]);
      await c.run(mark, [fence.runId]);
      return 'sealed';
    });
  },
  /** Null when there is none. Throws when the bytes do not match their hash: such a seal must not be published. */
  get: async (c: Connection, runId: RunId): Promise<Seal | null> => {
    const [row] = await c.run<Omit<Seal, 'bundle'> & { hash: Buffer }>(read, [runId]);
    if (row === undefined) return null;
    const chunks = await c.run<{ data: Buffer }>(readChunks, [runId]);
    const bundle = Buffer.concat(chunks.map((chunk) => chunk.data));
    const { hash, ...seal } = row;
    if (!createHash('sha256').update(bundle).digest().equals(hash)) {
      throw new Error(`the sealed result of run ${runId} does not match its hash`);
    }
    return { ...seal, bundle };
  },
};
