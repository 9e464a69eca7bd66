/** The clean git directory in which a result is built: it borrows the mirror's objects and has no history of its own. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gitOutput, objectFormatOf } from '@headgate/git';

export async function makeResultRepository(gitDir: string, mirror: string, baseSha: string): Promise<void> {
  await mkdir(dirname(gitDir), { recursive: true });
  await gitOutput({
    cwd: dirname(gitDir),
    args: [
      'init',
      '--quiet',
      '--bare',
      '--template=',
      `--object-format=${objectFormatOf(baseSha)}`,
      '--initial-branch=main',
      '--',
      gitDir,
    ],
  });
  await mkdir(join(gitDir, 'objects', 'info'), { recursive: true });
  await writeFile(join(gitDir, 'objects', 'info', 'alternates'), `${join(mirror, 'objects')}\n`);
}
