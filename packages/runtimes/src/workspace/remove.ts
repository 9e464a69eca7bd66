/** Removing what an agent may have left: folders without permissions, huge trees, paths too long to name, nothing. */
import { execFile } from 'node:child_process';
import { chmod, lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../sandbox/launch.js';

/** Removes a folder and all in it; never follows a link out of it. Removing what is not there is no error. */
export async function removeTree(path: string): Promise<void> {
  try {
    await removePlain(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (code === 'ENAMETOOLONG') return removeDeep(path);
    if (!['EACCES', 'EPERM', 'ENOTEMPTY'].includes(code)) throw error;
    await openUp(path);
    await removePlain(path).catch(() => removeDeep(path));
  }
}

const removePlain = (path: string): Promise<void> =>
  rm(path, { recursive: true, force: true, maxRetries: 3 });

async function openUp(path: string): Promise<void> {
  const stat = await lstat(path).catch(() => null);
  if (stat === null || !stat.isDirectory()) return;
  await chmod(path, 0o700).catch(() => undefined);
  for (const name of await readdir(path).catch(() => [])) await openUp(join(path, name));
}

/**
 * Folders in folders, deeper than a path can say: the system's own program goes down step by step. Links are removed
 * and not followed by it either.
 */
async function removeDeep(path: string): Promise<void> {
  const program = findProgram('rm');
  if (program === null) throw new Error(`${path} is too deep to be removed here`);
  await promisify(execFile)(program, ['-rf', '--', path], { env: {}, cwd: '/' });
}
