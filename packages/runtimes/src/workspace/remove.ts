/** Removing what an agent may have left: folders without permissions, huge trees, nothing at all. */
import { chmod, lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Removes a folder and all in it; never follows a link out of it. Removing what is not there is no error. */
export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== 'EACCES' && code !== 'EPERM' && code !== 'ENOTEMPTY') throw error;
    await openUp(path);
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function openUp(path: string): Promise<void> {
  const stat = await lstat(path).catch(() => null);
  if (stat === null || !stat.isDirectory()) return;
  await chmod(path, 0o700).catch(() => undefined);
  for (const name of await readdir(path).catch(() => [])) await openUp(join(path, name));
}
