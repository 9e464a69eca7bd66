/** artifact: what an attempt left on disk, by name (`agent.log`, `changes.patch`). */
import { type ArtifactId, systemIds } from '@headgate/domain';
import type { Connection } from '../connection/connection.js';
import { rowInsert } from '../connection/rows.js';
import type { Fence } from '../fence.js';

export interface ArtifactRow {
  readonly name: string;
  /** Below the artifacts folder: `{run}/{attempt}/name`. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: Buffer;
  readonly mediaType: string;
}
interface Stored extends ArtifactRow {
  readonly id: ArtifactId;
  readonly tenantId: number;
  readonly runId: string;
  readonly attemptNo: number;
}

const rows = rowInsert<Stored>(
  'artifact.insert',
  'artifact',
  [
    { name: 'id', type: 'uuid', value: (a) => a.id },
    { name: 'tenant_id', type: 'int', value: (a) => a.tenantId },
    { name: 'run_id', type: 'uuid', value: (a) => a.runId },
    { name: 'attempt_no', type: 'int', value: (a) => a.attemptNo },
    { name: 'name', type: 'text', value: (a) => a.name },
    { name: 'path', type: 'text', value: (a) => a.path },
    { name: 'bytes', type: 'bigint', value: (a) => a.bytes },
    { name: 'sha256', type: 'bytea', value: (a) => a.sha256 },
    { name: 'media_type', type: 'text', value: (a) => a.mediaType },
  ],
  'on conflict (run_id, attempt_no, name) do nothing',
);

export const artifacts = {
  insert: (
    c: Connection,
    of: { fence: Fence; tenantId: number; attemptNo: number },
    list: readonly ArtifactRow[],
  ): Promise<number> =>
    rows.insert(
      c,
      list.map((row) => ({
        ...row,
        id: systemIds.next('art'),
        tenantId: of.tenantId,
        runId: of.fence.runId,
        attemptNo: of.attemptNo,
      })),
    ),
};
