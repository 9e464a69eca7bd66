/** Opens a regular file that lies below a folder, links followed, whatever its name says. Null: it does not. */
import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { resolve, sep } from 'node:path';

export async function openBelow(root: string, path: string): Promise<FileHandle | null> {
  try {
    const base = await realpath(root);
    const real = await realpath(resolve(base, path));
    if (!real.startsWith(base + sep)) return null;
    const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW);
    if ((await handle.stat()).isFile()) return handle;
    await handle.close();
    return null;
  } catch {
    return null;
  }
}
