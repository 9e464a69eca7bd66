/** The base commit's files, as git has them. */
import { gitOutput } from '@headgate/git';

export interface BaseEntry {
  /** 100644, 100755, 120000 (link), 160000 (submodule) */
  readonly mode: string;
  readonly oid: string;
  /** null for a submodule. */
  readonly size: number | null;
}

export async function readBaseTree(
  mirror: string,
  baseSha: string,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, BaseEntry>> {
  const listing = await gitOutput({
    gitDir: mirror,
    args: ['ls-tree', '-r', '-l', '-z', '--full-tree', baseSha],
    maxOutputBytes: 512 * 1024 * 1024,
    ...(signal === undefined ? {} : { signal }),
  });
  const entries = new Map<string, BaseEntry>();
  for (const record of listing.toString('utf8').split('\0')) {
    const tab = record.indexOf('\t');
    if (tab < 0) continue;
    const [mode = '', , oid = '', size = '-'] = record.slice(0, tab).split(/ +/);
    entries.set(record.slice(tab + 1), { mode, oid, size: size === '-' ? null : Number(size) });
  }
  return entries;
}
