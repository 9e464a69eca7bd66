/** Where the optional package `@anthropic-ai/sandbox-runtime` lies, and whether it is the one that was tried. */
import { accessSync, constants, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The newest that runs on Node 20. We call a function of one of its modules, so another version is another library. */
export const LIBRARY_VERSION = '0.0.78';
const LIBRARY = '@anthropic-ai/sandbox-runtime';

/** The command of a clone, whose lock file names the package. */
export const INSTALL_LIBRARY = 'npx --yes pnpm@12.4.2 install --frozen-lockfile';

export type FoundLibrary =
  | {
      readonly kind: 'found';
      readonly folder: string;
      /** Puts the filter of system calls before a command. */
      readonly filterProgram: string;
    }
  | { readonly kind: 'missing'; readonly detail: string; readonly remedy: string };

export function findLibrary(): FoundLibrary {
  const folder = folderOf(LIBRARY);
  if (folder === null) {
    return { kind: 'missing', detail: `${LIBRARY} is not installed`, remedy: INSTALL_LIBRARY };
  }
  const version = versionIn(folder);
  if (version !== LIBRARY_VERSION) {
    const detail = `${LIBRARY} is ${version}, and only ${LIBRARY_VERSION} was tried`;
    return { kind: 'missing', detail, remedy: INSTALL_LIBRARY };
  }
  const filterProgram = join(folder, 'vendor', 'seccomp', process.arch, 'apply-seccomp');
  if (!isRunnable(filterProgram)) {
    const detail = `${LIBRARY} has no filter of system calls for ${process.arch}`;
    return { kind: 'missing', detail, remedy: 'run agents on a worker with an x64 or arm64 processor' };
  }
  return { kind: 'found', folder, filterProgram };
}

/** Its real place: the package manager's links are not shown inside. */
function folderOf(name: string): string | null {
  try {
    return dirname(realpathSync(createRequire(import.meta.url).resolve(`${name}/package.json`)));
  } catch {
    return null;
  }
}

function versionIn(folder: string): string {
  const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const isManifest = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return isManifest ? String(manifest.version) : 'without a version';
}

function isRunnable(program: string): boolean {
  try {
    accessSync(program, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
