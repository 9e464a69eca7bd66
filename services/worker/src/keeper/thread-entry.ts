/** Where the keeper's thread is started from. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Plain JavaScript beside this file when we run built; in `dist` when we run from source. */
export function keeperThreadEntry(): string {
  for (const place of ['./keeper-thread.js', '../../dist/keeper/keeper-thread.js']) {
    const file = fileURLToPath(new URL(place, import.meta.url));
    if (existsSync(file)) return file;
  }
  throw new Error('the keeper thread is not built: run "npx tsc -b services/worker" first');
}
