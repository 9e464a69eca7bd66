/** What the figures were measured on. */
import { execFileSync } from 'node:child_process';
import { cpus, type as osType, release, totalmem } from 'node:os';
import { withClient } from '@headgate/testkit/measure';
import type { Place } from './place.js';

export type Machine = Readonly<Record<string, string>>;

export async function machine(place: Place, hasWrk: boolean, peersNode: string): Promise<Machine> {
  const settings = await withClient(place.postgres.url, async (client) => {
    const { rows } = await client.query<{ name: string; setting: string }>(
      `select name, setting from pg_settings
        where name in ('server_version', 'fsync', 'synchronous_commit', 'full_page_writes', 'wal_sync_method', 'shared_buffers')`,
    );
    return new Map(rows.map(({ name, setting }) => [name, setting]));
  });
  const of = (name: string): string => settings.get(name) ?? 'unknown';
  return {
    processors: `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}`,
    memory: `${Math.round(totalmem() / 1024 ** 3)} GB`,
    system: `${osType()} ${release()}`,
    node: process.version,
    'node of intake and of what it is compared with': versionOf(peersNode),
    postgres: of('server_version'),
    durability: `fsync ${of('fsync')}, synchronous_commit ${of('synchronous_commit')}, full_page_writes ${of('full_page_writes')}, ${of('wal_sync_method')}`,
    'shared buffers': `${Math.round((Number(of('shared_buffers')) * 8) / 1024)} MB`,
    redis: place.redis === null ? 'none' : 'private, loopback',
    load: hasWrk ? 'wrk, 64 connections' : 'autocannon, 64 connections',
  };
}

const versionOf = (node: string): string =>
  node === process.execPath
    ? process.version
    : execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
