/** What a run sealed. */
import { formatId, type RunId } from '@headgate/domain';
import type { RunResult } from '@headgate/sdk';
import type { Connection } from '@headgate/store';
import { sql } from 'drizzle-orm';
import { artifactAnswer, artifactFiles } from './artifacts.js';
import { instantOf } from './instants.js';
import { rows } from './read.js';

/** The diff of a sealed result, as the worker names it. */
const PATCH = 'changes.patch';

interface SealRow {
  readonly verdict: RunResult['verdict'];
  readonly baseVersion: string;
  readonly commitSha: string | null;
  readonly bytes: number;
  readonly sha256: string;
  readonly createdAt: Date;
  readonly summary: string | null;
  readonly verification: unknown;
  readonly attemptNo: number | null;
}

/** Null: it has sealed nothing, or is not the caller's. */
export async function runResult(c: Connection, runId: RunId): Promise<RunResult | null> {
  const [seal] = await rows<SealRow>(
    c,
    sql`select s.verdict, s.base_version as "baseVersion", s.commit_sha as "commitSha", s.bytes::float8 as bytes, encode(s.hash, 'hex') as sha256,
               s.created_at as "createdAt", s.summary, s.verification, a.number as "attemptNo"
          from headgate.seal s left join headgate.attempt a on a.id = s.attempt_id
         where s.run_id = ${runId}::uuid`,
  );
  if (seal === undefined) return null;
  const { attemptNo, createdAt, ...result } = seal;
  const patch = (await artifactFiles(c, runId)).findLast(
    (file) => file.name === PATCH && file.attemptNo === attemptNo,
  );
  return {
    ...result,
    runId: formatId('run', runId),
    sealedAt: instantOf(createdAt),
    patch: patch === undefined ? null : artifactAnswer(runId, patch),
  };
}
