/**
 * repository_file: `.headgate.yaml` as it was last read at the head of the default branch, and the signals that wait
 * for it.
 *
 *   admission: not fresh ─► request (row lock until its commit) ─► deferred_signal names the file
 *   reconciler: claim (token, until) ─► reads the source, no lock held ─► settle under the token ─► release what waits
 *
 * A signal that is deferred while a reader settles: its transaction holds the row by `request`, so the settling waits
 * for it and the release, a statement of its own, sees it. One deferred after the settling asks for another read.
 * A reader that dies leaves a claim that runs out; one that was slow finds another's token and writes nothing.
 */
import { randomUUID } from 'node:crypto';
import type { Connection } from '../connection/connection.js';
import { statement } from '../connection/statement.js';

export interface RepositoryFileKey {
  readonly tenantId: number;
  readonly source: string;
  /** In any case: kept and compared in lower case. */
  readonly fullName: string;
}

export interface RequestedFile extends RepositoryFileKey {
  /** The default branch has moved: what was read there is old, however new. */
  readonly hasMoved: boolean;
}

export interface RepositoryFileRow {
  readonly id: number;
  readonly tenantId: number;
  readonly source: string;
  readonly fullName: string;
  readonly state: 'unread' | 'found' | 'absent' | 'unreadable';
  readonly blobSha: string | null;
  /** Of `found`. */
  readonly text: string | null;
  /** Of `unreadable`. */
  readonly detail: string | null;
  /** Since it was read; null: never. By the database's clock. */
  readonly ageMs: number | null;
}

export interface ClaimedFile {
  readonly id: number;
  readonly tenantId: number;
  readonly source: string;
  readonly fullName: string;
  readonly claim: string;
}

/** What a reader found. */
export type FileFinding =
  | { readonly kind: 'found'; readonly commitSha: string; readonly blobSha: string; readonly text: string }
  | { readonly kind: 'absent'; readonly commitSha: string | null }
  | { readonly kind: 'unreadable'; readonly detail: string };

const read = statement(
  'repository_file.read',
  `select f.id, f.tenant_id as "tenantId", f.source, f.full_name as "fullName", f.state, f.blob_sha as "blobSha",
          b.text, f.detail, (extract(epoch from clock_timestamp() - f.read_at) * 1000)::float8 as "ageMs"
     from unnest($1::int[], $2::text[], $3::text[]) as g(tenant_id, source, full_name)
     join headgate.repository_file f
       on f.tenant_id = g.tenant_id and f.source = g.source and f.full_name = g.full_name
     left join headgate.repository_file_text b on b.tenant_id = f.tenant_id and b.blob_sha = f.blob_sha`,
);
// Always in key order (SQL rule 8). The update keeps the row locked until the commit. A default branch that has moved
// makes what was read there count no more; a row that is new with it was read in 1970.
const request = statement(
  'repository_file.request',
  `insert into headgate.repository_file as f (tenant_id, source, full_name, read_at)
   select tenant_id, source, full_name, case when moved then to_timestamp(0) end
     from unnest($1::int[], $2::text[], $3::text[], $4::boolean[]) as g(tenant_id, source, full_name, moved)
    order by tenant_id, source, full_name
   on conflict (tenant_id, source, full_name) do update
      set requested_at = clock_timestamp(),
          read_at = case when excluded.read_at is null then f.read_at else excluded.read_at end
   returning f.id, f.tenant_id as "tenantId", f.source, f.full_name as "fullName"`,
);
// Asked for since it was read; or broken, waited for, and not looked at for a while.
const claim = statement(
  'repository_file.claim',
  `with due as materialized (
     select f.id from headgate.repository_file f
      where coalesce(f.claimed_until, '-infinity') < clock_timestamp()
        and (f.read_at is null or f.requested_at > f.read_at
             or (f.read_at < clock_timestamp() - $3 * interval '1 millisecond'
                 and exists (select 1 from headgate.deferred_signal d where d.repository_file_id = f.id)))
      order by f.requested_at, f.id limit $1 for update skip locked
   )
   update headgate.repository_file f
      set claim = $4, claimed_until = clock_timestamp() + $2 * interval '1 millisecond'
     from due where f.id = due.id
   returning f.id, f.tenant_id as "tenantId", f.source, f.full_name as "fullName", f.claim`,
);
const keepText = statement(
  'repository_file_text.keep',
  `insert into headgate.repository_file_text (tenant_id, blob_sha, text) values ($1, $2, $3)
   on conflict (tenant_id, blob_sha) do nothing`,
);
const settle = statement(
  'repository_file.settle',
  `update headgate.repository_file
      set state = $3, blob_sha = $4, commit_sha = $5, detail = $6, read_at = clock_timestamp(), claim = null,
          claimed_until = null
    where id = $1 and claim = $2`,
);
const release = statement(
  'deferred_signal.release_of_file',
  `with waiting as materialized (
     select id from headgate.deferred_signal
      where repository_file_id = $1 and due_at > clock_timestamp()
        and (reason_code = 'REPOSITORY_CONFIG_PENDING' or $2::boolean)
      order by id for update
   )
   update headgate.deferred_signal d set due_at = clock_timestamp() from waiting w where d.id = w.id`,
);
const arrays = (keys: readonly RepositoryFileKey[]): readonly unknown[] => [
  keys.map((key) => key.tenantId),
  keys.map((key) => key.source),
  keys.map((key) => key.fullName.toLowerCase()),
];

/** Each key once: one statement must not hold it twice (SQL rule 3). */
const distinct = (keys: readonly RepositoryFileKey[]): readonly RepositoryFileKey[] => [
  ...new Map(keys.map((key) => [repositoryFileKey(key), key])).values(),
];

export const repositoryFileKey = ({ tenantId, source, fullName }: RepositoryFileKey): string =>
  `${tenantId}\u0000${source}\u0000${fullName.toLowerCase()}`;

export const repositoryFiles = {
  /** By `repositoryFileKey`. */
  read: async (
    c: Connection,
    keys: readonly RepositoryFileKey[],
  ): Promise<ReadonlyMap<string, RepositoryFileRow>> => {
    if (keys.length === 0) return new Map();
    const rows = await c.run<RepositoryFileRow>(read, arrays(distinct(keys)));
    return new Map(rows.map((row) => [repositoryFileKey(row), row]));
  },
  /** Asks for a read; the ids, by `repositoryFileKey`. The rows stay locked until the commit. */
  request: async (c: Connection, wanted: readonly RequestedFile[]): Promise<ReadonlyMap<string, number>> => {
    if (wanted.length === 0) return new Map();
    const moved = new Set(wanted.filter(({ hasMoved }) => hasMoved).map(repositoryFileKey));
    const keys = distinct(wanted);
    const rows = await c.run<RepositoryFileKey & { id: number }>(request, [
      ...arrays(keys),
      keys.map((key) => moved.has(repositoryFileKey(key))),
    ]);
    return new Map(rows.map((row) => [repositoryFileKey(row), row.id]));
  },
  claim: (
    c: Connection,
    options: { readonly limit: number; readonly claimMs: number; readonly againMs: number },
  ): Promise<ClaimedFile[]> =>
    c.run<ClaimedFile>(claim, [options.limit, options.claimMs, options.againMs, randomUUID()]),
  /** False: the claim ran out and another has it. `isSound`: also what waits for a broken file goes on. */
  settle: async (
    c: Connection,
    file: ClaimedFile,
    finding: FileFinding,
    isSound: boolean,
  ): Promise<boolean> => {
    if (finding.kind === 'found') await c.run(keepText, [file.tenantId, finding.blobSha, finding.text]);
    const settled = await c.count(settle, [
      file.id,
      file.claim,
      finding.kind,
      finding.kind === 'found' ? finding.blobSha : null,
      finding.kind === 'unreadable' ? null : finding.commitSha,
      finding.kind === 'unreadable' ? finding.detail : null,
    ]);
    if (settled === 0) return false;
    await c.run(release, [file.id, isSound]);
    return true;
  },
};
