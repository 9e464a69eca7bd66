/** From a specification to one whose command runs in the library's sandbox, inside ours. */
import { join } from 'node:path';
import { programFiles } from '../allow-list.js';
import { filesOf } from '../bubblewrap/arguments.js';
import { builtProgram } from '../built-program.js';
import { findProgram, SYSTEM_PATH } from '../launch.js';
import type { SandboxSpec } from '../port.js';
import type { FoundLibrary } from './library.js';

/**
 * $1 = env, PATH, Node, our program, what it is asked. The command's own variables count for neither, and its folder is not
 * theirs: the library would lay empty files over it (.bashrc, .gitconfig …) that nobody takes away again.
 */
const CONFINE = 'line=$(cd / && "$1" -i PATH="$2" "$3" "$4" "$5") || exit 125; exec /bin/sh -c "$line"';

export function confined(
  spec: SandboxSpec,
  processLimits: readonly string[],
  library: FoundLibrary & { readonly kind: 'found' },
): SandboxSpec {
  const files = filesOf(spec);
  const program = builtProgram('sandbox-runtime/shell-line.mjs');
  const request = JSON.stringify({
    libraryFolder: library.folder,
    filterProgram: library.filterProgram,
    bwrap: findProgram('bwrap'),
    writable: [...files.writable, ...files.scratch, '/tmp'],
    argv: [...processLimits, ...spec.argv],
  });
  const ofTheLibrary = ['package.json', 'dist', 'vendor/seccomp'].map((name) => join(library.folder, name));
  return {
    ...spec,
    argv: [
      ...['/bin/sh', '-c', CONFINE, 'headgate-confine'],
      ...[findProgram('env') ?? 'env', SYSTEM_PATH, process.execPath, program, request],
    ],
    files: {
      ...files,
      readOnly: [...files.readOnly, ...programFiles(spec.argv), ...ofTheLibrary, program],
    },
  };
}
