import { type ArtifactId, formatId, type RunId } from '@headgate/domain';
import type { Artifact } from '@headgate/sdk';
import type { Connection } from '@headgate/store';
import { sql } from 'drizzle-orm';
import { instantOf } from './instants.js';
import { rows } from './read.js';

export interface ArtifactFile {
  readonly id: ArtifactId;
  readonly attemptNo: number;
  readonly name: string;
  /** Below the artifacts folder. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: Buffer;
  readonly mediaType: string;
  readonly createdAt: Date;
}

/** Of all attempts, oldest first. */
export const artifactFiles = (c: Connection, runId: RunId): Promise<ArtifactFile[]> =>
  rows<ArtifactFile>(
    c,
    sql`select id, attempt_no as "attemptNo", name, path, bytes::float8 as bytes, sha256,
               media_type as "mediaType", created_at as "createdAt"
          from headgate.artifact where run_id = ${runId}::uuid order by attempt_no, name`,
  );

export function artifactAnswer(runId: RunId, file: ArtifactFile): Artifact {
  const id = formatId('run', runId);
  return {
    id: formatId('art', file.id),
    runId: id,
    attempt: file.attemptNo,
    name: file.name,
    bytes: file.bytes,
    sha256: file.sha256.toString('hex'),
    mediaType: file.mediaType,
    createdAt: instantOf(file.createdAt),
    url: `/v1/runs/${id}/artifacts/${encodeURIComponent(file.name)}?attempt=${file.attemptNo}`,
  };
}
