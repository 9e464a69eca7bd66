/** Programs of ours that run inside a sandbox, by themselves: plain JavaScript, and nothing beside it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** `name` is its path below this folder. It lies here when we run built, in `dist` when we run from source. */
export function builtProgram(name: string): string {
  for (const place of ['.', '../../dist/sandbox']) {
    const file = fileURLToPath(new URL(join(place, name), import.meta.url));
    if (existsSync(file)) return file;
  }
  throw new Error(`${name} is not built; run the build first`);
}
